#pragma once

#include <vector>

#include "reports/figures/chart.h"
#include "reports/figures/ticks.h"

namespace headroom::reports {

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

}  // namespace headroom::reports
