#pragma once

#include <QLabel>

namespace headroom::gui {

/// Plain text that wraps and can be selected.
QLabel* paragraph(QWidget* parent);

/// A paragraph on a tint that stands out, for a state that the user would not expect. Hidden at first.
QLabel* warning(QWidget* parent);

}  // namespace headroom::gui
