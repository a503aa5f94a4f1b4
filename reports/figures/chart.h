#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/trace/memory_kind.h"
#include "reports/figures/unit.h"

namespace headroom::reports {

struct Range {
  double least = 0;
  double most = 0;
};

struct Tick {
  double at = 0;
  std::string label;
};

/// Round values within the range, about `most` of them or fewer. Bytes use powers of 1024 ("256 MiB", "1
/// GiB"). Pixels on a logarithmic axis use squares ("512×512"). All else uses 1, 2 and 5 times powers of ten.
/// The largest value sets the unit. No two labels are alike.
std::vector<Tick> ticks(Unit unit, Range range, bool logarithmic, size_t most);

/// A value with digits enough to tell it from a value one `step` away, in the unit of its size.
std::string fine_label(Unit unit, double value, double step);

struct ChartAxis {
  std::string title;
  Unit unit = Unit::none;
  bool logarithmic = false;
};

/// Meaning of a colour. Each renderer has its own colours, for light and dark.
enum class ColourRole {
  // The kinds of memory, in the order of MemoryKind (colour_role_of).
  weights,
  latent,
  kept,
  tile,
  workspace,
  slack,  ///< reserved but free; drawn paler than memory in use
  libraries,
  context,
  outside,
  // Colours of everything else.
  driver,  ///< the driver's count, drawn over our own
  predicted,
  measured,
  untiled,
  planned,
  limit,
  neutral,
  other,  ///< a second file, in comparisons
};
constexpr size_t kColourRoles = static_cast<size_t>(ColourRole::other) + 1;
constexpr ColourRole colour_role_of(MemoryKind kind) {
  return static_cast<ColourRole>(kind);
}
static_assert(colour_role_of(MemoryKind::kept) == ColourRole::kept &&
              colour_role_of(MemoryKind::outside) == ColourRole::outside &&
              static_cast<size_t>(ColourRole::driver) == kMemoryKinds);

enum class Mark {
  area,    ///< stacked on the areas before it; held until the next point
  line,    ///< straight from point to point
  steps,   ///< held until the next point
  points,  ///< single points
};

struct Series {
  std::string name;
  Mark mark = Mark::line;
  ColourRole colour_role = ColourRole::neutral;
  std::vector<double> x;  ///< ascending
  std::vector<double> y;  ///< as many as x; an area's own height, without the areas below it
};

/// A line across the whole chart: a limit, or the selected moment.
struct Guide {
  std::string label;
  double at = 0;
  bool vertical = false;  ///< at an x, otherwise at a y
  ColourRole colour_role = ColourRole::limit;
  bool always_in_sight = false;  ///< ranges_of() includes the guide, however far it is from the series
};

/// A point with words beside it: the peak, the largest size that fits.
struct Note {
  double x = 0;
  double y = 0;
  std::string text;
};

/// An interval of the x axis with a name: a pass.
struct Span {
  double begin = 0;
  double end = 0;
  std::string name;
};

/// A strip along the bottom of a chart. Shows the share of each interval of the x axis that something took,
/// such as waiting.
struct Strip {
  std::string name;
  ColourRole colour_role = ColourRole::neutral;
  std::vector<double> x;      ///< ascending: begins of the intervals, and the end of the last one
  std::vector<double> share;  ///< by interval, from 0 to 1
};

/// A plot as data. Reports draw it as SVG, and the GUI draws it on the screen.
struct Chart {
  std::string title;
  ChartAxis x, y;
  std::vector<Series> series;
  std::vector<Guide> guides;
  std::vector<Note> notes;
  std::vector<Span> spans;
  std::optional<Strip> strip{};
  bool compact = false;  ///< one of several charts in a column: lower; one legend serves all
};

/// Ranges of a chart's axes.
struct ChartRanges {
  Range x, y;
};

/// Ranges of everything in the chart, with some room for labels. They are never empty. A guide far beyond the
/// series does not count, because it would squeeze them together.
ChartRanges ranges_of(const Chart& chart);
/// The smallest ranges that cover both, for charts with the same axes.
ChartRanges united(const ChartRanges& a, const ChartRanges& b);

/// The areas of a chart, stacked.
struct Stack {
  std::vector<double> x;                  ///< all moments of all areas, ascending
  std::vector<std::vector<double>> tops;  ///< for each area of the chart, in its order, parallel to x
};
Stack stacked_areas(const Chart& chart);

/// True if a value can be drawn: finite and not extreme, and above 0 on a logarithmic axis.
bool can_be_drawn(const ChartAxis& axis, double value);

/// The colour of a role on light and on dark paper, as "#rrggbb".
struct RoleColours {
  const char* name;  ///< in style sheets
  const char* light;
  const char* dark;
};

/// Colours by ColourRole, for reports and for the window. Each has a contrast of 3:1 or more against the
/// background of its theme. They stay distinct with the common kinds of colour blindness (after Okabe and
/// Ito). Lines also differ in their dashes, and points in their shapes. Only kinds that never share a device
/// may look alike: `outside` is the CPU's; slack, libraries and context are a GPU's.
constexpr std::array<RoleColours, kColourRoles> kRoleColours{{
    {"weights", "#47515c", "#c3ccd6"},
    {"latent", "#6b4a00", "#ffe27a"},
    {"kept", "#1570c0", "#3b8fd4"},
    {"tile", "#e06c00", "#e2741c"},
    {"workspace", "#12946a", "#3fc49a"},
    {"slack", "#8a939c", "#6b7580"},
    {"libraries", "#5a1010", "#786048"},
    {"context", "#8a2be2", "#9048f0"},
    {"outside", "#cf6fbd", "#a8579a"},
    {"driver", "#000000", "#ffffff"},
    {"predicted", "#1570c0", "#3b8fd4"},
    {"measured", "#e06c00", "#e2741c"},
    {"untiled", "#66707c", "#9aa5b1"},
    {"planned", "#1570c0", "#3b8fd4"},
    {"limit", "#a3123f", "#ff8aa6"},
    {"neutral", "#3b434c", "#c3cbd3"},
    {"other", "#7440b8", "#b592f2"},
}};

}  // namespace headroom::reports
