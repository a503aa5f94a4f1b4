#pragma once

#include <qcustomplot.h>

#include "reports/figures/chart.h"

namespace headroom::gui {

/// Places ticks as the reports do, in the axis's unit.
QSharedPointer<QCPAxisTicker> ticker_of(const reports::ChartAxis& axis);

/// Text for the value under the pointer. It differs from the text of a value one `step` away. It has the
/// reports' format, or more digits if that format cannot tell the two apart.
QString tick_text(reports::Unit unit, double value, double step);

}  // namespace headroom::gui
