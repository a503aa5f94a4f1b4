#pragma once

#include <QToolTip>

#include "gui/model/plain_tooltip.h"

namespace headroom::gui {

/// Shows plain text as a tooltip (plain_tooltip.h). An empty text hides the current one.
inline void show_tooltip(const QPoint& at, const QString& text, QWidget* over) {
  QToolTip::showText(at, plain_tooltip(text), over);
}

}  // namespace headroom::gui
