#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/trace/memory_kind.h"
#include "reports/figures/unit.h"

namespace headroom::reports {

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

}  // namespace headroom::reports
