#pragma once

#include <QLabel>

namespace headroom::gui {

/// Plain text that wraps and can be selected.
QLabel* paragraph(QWidget* parent);

/// Highlights a paragraph that warns of an unexpected state.
void show_as_warning(QLabel& label, bool warns);

/// A highlighted paragraph that warns of an unexpected state. Hidden at first.
QLabel* warning(QWidget* parent);

}  // namespace headroom::gui
