#pragma once

#include <string>

#include "reports/figures/chart.h"
#include "reports/render/markup.h"
#include "reports/render/report.h"
#include "reports/render/svg_frame.h"

namespace headroom::reports {

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
