#pragma once

#include <vector>

#include "reports/figures/chart.h"
#include "reports/figures/ticks.h"

namespace headroom::reports {

/// What a chart's axes span.
struct ChartRanges {
  Range x, y;
};

/// From all that the chart has, with some room for labels; never empty. A guide far beyond the series does
/// not count: it would press them together.
ChartRanges ranges_of(const Chart& chart);
/// What spans both, for charts with the same axes.
ChartRanges united(const ChartRanges& a, const ChartRanges& b);

/// The areas of a chart one on another.
struct Stack {
  std::vector<double> x;                  ///< all moments of all areas, ascending
  std::vector<std::vector<double>> tops;  ///< for each area of the chart, in its order, parallel to x
};
Stack stacked_areas(const Chart& chart);

/// Whether a value can be drawn: no nonsense, and above 0 on a logarithmic axis.
bool can_be_drawn(const ChartAxis& axis, double value);

}  // namespace headroom::reports
