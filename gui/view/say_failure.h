#pragma once

#include <QString>

class QWidget;

namespace headroom::gui {

/// A box that says what could not be done, over `parent`, until it is closed.
void say_failure(QWidget* parent, const QString& title, const QString& what);

}  // namespace headroom::gui
