#pragma once

#include <qcustomplot.h>

#include "reports/figures/chart.h"

namespace headroom::gui {

/// Marks an axis in its unit, as the reports do.
QSharedPointer<QCPAxisTicker> ticker_of(const reports::ChartAxis& axis);

/// A text for the value under the pointer that a neighbour `step` away does not share: as the reports write
/// it where that tells them apart, with more digits where not.
QString tick_text(reports::Unit unit, double value, double step);

}  // namespace headroom::gui
