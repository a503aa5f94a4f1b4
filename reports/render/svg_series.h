#pragma once

#include "reports/figures/chart.h"
#include "reports/render/markup.h"
#include "reports/render/svg_scale.h"

namespace headroom::reports {

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
