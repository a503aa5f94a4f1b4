#pragma once

#include <QString>

class QWidget;

namespace headroom::gui {

/// Shows an error in a modal box over `parent` and waits until it is closed.
void say_failure(QWidget* parent, const QString& title, const QString& what);

}  // namespace headroom::gui
