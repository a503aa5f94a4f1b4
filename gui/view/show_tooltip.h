#pragma once

#include <QToolTip>

#include "gui/model/plain_tooltip.h"

namespace headroom::gui {

/// Shows a text as it is (plain_tooltip.h); an empty one hides what is shown.
inline void show_tooltip(const QPoint& at, const QString& text, QWidget* over) {
  QToolTip::showText(at, plain_tooltip(text), over);
}

}  // namespace headroom::gui
