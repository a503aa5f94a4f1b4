#pragma once

#include <QLabel>

namespace headroom::gui {

/// Plain text that wraps and can be selected.
QLabel* paragraph(QWidget* parent);

/// The same on a tint that stands out: something that is not as one would take it to be. Hidden at first.
QLabel* warning(QWidget* parent);

}  // namespace headroom::gui
