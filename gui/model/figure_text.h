#pragma once

#include <QString>
#include <QStringList>
#include <string>

#include "reports/figures/unit.h"

namespace headroom::gui {

/// Translates a title, an explanation or a name from reports/figures into the window's language. Some texts
/// mix known words with others ("limit 592.0 MiB", "pass 3 conv_in: predicted peak"). Then a known beginning
/// and a known ending are translated and the rest stays. Layers and tensors get their short names.
QString figure_text(const std::string& text);

/// Replaces each layer and tensor name in the text by its short name (decoder/base/short_name.h).
QString with_short_names(const QString& text);

/// The full names behind the short names in the text, in order.
QStringList full_names(const QString& text);

/// A number as the reports write it, its unit in the window's language.
QString figure_text(reports::Unit unit, double value);

/// Escapes a text for a tooltip. Qt renders text with tags as HTML, and texts from files are untrusted.
QString plain_tooltip(const QString& text);

}  // namespace headroom::gui
