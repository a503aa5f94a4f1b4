#pragma once

#include <QString>

namespace headroom::gui {

/// Escapes a text for a tooltip. Qt renders text with tags as HTML, and texts from files are untrusted.
QString plain_tooltip(const QString& text);

}  // namespace headroom::gui
