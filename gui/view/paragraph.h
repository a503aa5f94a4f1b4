#pragma once

#include <QLabel>

namespace headroom::gui {

/// Plain text that wraps and can be selected.
QLabel* paragraph(QWidget* parent);

}  // namespace headroom::gui
