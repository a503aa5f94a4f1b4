#pragma once

#include <QString>
#include <QStringList>
#include <string>

#include "reports/figures/unit.h"

namespace headroom::gui {

/// A title, an explanation or a name of reports/figures in the window's language. Where it is made of known
/// words and something else ("limit 592.0 MiB", "pass 3 conv_in: predicted peak"), a known beginning and a
/// known ending are translated and the rest stays. Layers and tensors in it have their short names.
QString figure_text(const std::string& text);

/// The same text with the short name (decoder/graph/short_name.h) of each layer and tensor in it.
QString with_short_names(const QString& text);

/// The full names that those stand for, in their order.
QStringList full_names(const QString& text);

/// A number as the reports write it, its unit in the window's language.
QString figure_text(reports::Unit unit, double value);

}  // namespace headroom::gui
