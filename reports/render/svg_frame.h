#pragma once

#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/render/markup.h"
#include "reports/render/svg_labels.h"
#include "reports/render/svg_scale.h"

namespace headroom::reports {

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

}  // namespace headroom::reports
