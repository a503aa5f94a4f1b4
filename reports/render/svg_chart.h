#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/render/markup.h"
#include "reports/render/report.h"

namespace headroom::reports {

/// Font sizes in units of the drawing.
constexpr double kLabelSize = 13;
constexpr double kLineHeight = 17;

/// Estimated width of a text. The browser chooses the font, so the estimate errs on the wide side.
double text_width(std::string_view text, double font_size = kLabelSize);
double bold_width(std::string_view text);  ///< at label size

/// Clean text with short names of layers. If it is too wide, "…" replaces its beginning, because the ends of
/// names differ most. Empty if not even a few characters fit.
std::string fitted_text(std::string_view text, double width, double font_size = kLabelSize);

/// A layer's short name, or its longest tail that fits: "conv1" of "up3.res0.conv1". Empty if not even the
/// last part fits.
std::string fitted_name(std::string_view name, double width, double font_size);

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};
bool overlap(const Box& a, const Box& b);

/// Finds places for labels inside a frame so that none covers another.
class LabelPlacer {
 public:
  explicit LabelPlacer(const Box& frame) : frame_(frame) {}

  /// Moves the candidates into the frame and returns the first free one. If none is free, it moves them down
  /// or up as little as possible. Places nearby that also keep clear of avoided boxes are preferred. If the
  /// frame is full, it returns the first candidate, moved into the frame. The returned box is then taken.
  Box place(const std::vector<Box>& candidates);
  void take(const Box& box) { taken_.push_back(box); }
  /// Marks a line or point that labels cover only if there is no better place.
  void avoid(const Box& box) { avoided_.push_back(box); }

 private:
  Box inside(Box box) const;
  Box frame_;
  std::vector<Box> taken_, avoided_;
};

/// Maps values of an axis to coordinates. Values beyond the range map to its ends.
class Scale {
 public:
  /// `from` and `to` are the coordinates of the range's ends. `to` may be smaller than `from`. The range must
  /// not be empty. A logarithmic range must be above 0.
  Scale(Range range, bool logarithmic, double from, double to);
  double position(double value) const;
  bool holds(double value) const { return value >= range_.least && value <= range_.most; }
  const Range& range() const { return range_; }

 private:
  double share(double value) const;
  Range range_;
  bool logarithmic_;
  double from_, to_;
};

// Parts shared by all drawings.

constexpr double kDrawingWidth = 960;

/// "fill-kept", "line-kept": classes of page_style.h.
std::string fill_class(ColourRole colour_role);
std::string line_class(ColourRole colour_role);

/// Opens <svg> with its title and description. The caller closes it.
void open_drawing(Markup& svg, const std::string& id, const std::string& title,
                  const std::string& description, double height);

/// `anchor` is "start", "middle" or "end".
void draw_text(Markup& svg, double x, double y, const std::string& text, const char* anchor,
               const std::string& css_class = "label");
void draw_line(Markup& svg, double x1, double y1, double x2, double y2, const std::string& css_class);

/// Bounding box of label text of this width whose baseline starts at (x, y).
Box label_box(double x, double y, double width);
/// Draws text into a box from label_box().
void draw_label(Markup& svg, const Box& box, const std::string& text, const std::string& css_class = "label");

/// Path of a small marker around (x, y). Consecutive values of `shape` look different.
std::string marker_path(double x, double y, size_t shape, double radius = 3.5);

struct LegendEntry {
  std::string name;
  ColourRole colour_role = ColourRole::neutral;
  Mark mark = Mark::line;
  size_t shape = 0;
};
/// Draws the legend's lines from `top` down and returns their height.
double draw_legend(Markup& svg, const std::vector<LegendEntry>& entries, double left, double top);

/// Ticks with enough room for their labels on an axis of this length.
std::vector<Tick> ticks_that_fit(const ChartAxis& axis, const Scale& scale, double length);

/// "device memory" or "time, logarithmic".
std::string axis_text(const ChartAxis& axis);

// Drawings as <svg> elements for a page. They are 960 units wide and scale to their box. Colours are classes
// of page_style.h, so that light, dark and print choose them. `id` must be unique in its page, because the
// ids of <title> and <desc> contain it.

/// `axes` sets ranges shared with other charts. Pass false for `with_legend` if a chart above has the same
/// legend.
std::string svg_chart(const Chart& chart, const std::string& id, const ChartRanges* axes = nullptr,
                      bool with_legend = true);

/// Coordinate system of a chart.
struct Plane {
  const ChartAxis& x_axis;
  const ChartAxis& y_axis;
  Scale x, y;
};

/// Draws all areas of a chart as a stack.
void draw_areas(Markup& svg, const Chart& chart, const Plane& plane);

/// Draws one series that is not an area. `shape` selects its markers.
void draw_series(Markup& svg, const Series& series, const Plane& plane, size_t shape);

}  // namespace headroom::reports
