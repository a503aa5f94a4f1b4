#pragma once

#include <QString>

namespace headroom::gui {

/// A text as a tooltip shows it as it is: Qt takes one with tags for HTML, and texts come from files.
QString plain_tooltip(const QString& text);

}  // namespace headroom::gui
