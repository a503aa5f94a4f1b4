#pragma once

#include <QLabel>

namespace headroom::gui {

/// Plain text that wraps and can be selected.
QLabel* paragraph(QWidget* parent);

/// A highlighted paragraph that warns of an unexpected state. Hidden at first.
QLabel* warning(QWidget* parent);

}  // namespace headroom::gui
