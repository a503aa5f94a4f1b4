#pragma once

#include <qcustomplot.h>

#include "reports/figures/chart.h"

namespace headroom::gui {

/// Areas laid on top of one another.
struct Stack {
  std::vector<double> x;  ///< where any of them changes
  std::vector<std::vector<double>>
      tops;  ///< of each area, in the order of the chart: its upper edge at each x
};
Stack stacked(const reports::Chart& chart);

/// What is visible when all of a chart is shown.
struct ChartExtent {
  QCPRange x, y;
};
ChartExtent extent_of(const reports::Chart& chart);

/// Marks an axis in its unit, as the reports do; `categories` where x counts these.
QSharedPointer<QCPAxisTicker> ticker_of(const reports::ChartAxis& axis,
                                        const std::vector<std::string>& categories);

/// A text for the value under the pointer that a neighbour `step` away does not share: as the reports write
/// it where that tells them apart, with more digits where not.
QString tick_text(reports::Unit unit, double value, double step);

}  // namespace headroom::gui
