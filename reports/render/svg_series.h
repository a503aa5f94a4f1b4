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

/// All areas of a chart, one on another.
void draw_areas(Markup& svg, const Chart& chart, const Plane& plane);

/// One series that is no area. `shape` is that of its marks.
void draw_series(Markup& svg, const Series& series, const Plane& plane, size_t shape);

}  // namespace headroom::reports
