#pragma once

#include <QString>

class QWidget;

namespace headroom::gui {

/// Gives an input its explanation as a tooltip and, where it holds more than it shows, all of that above it:
/// of a long path the end or the beginning would be out of sight. For a QLineEdit or a QComboBox; any other
/// field gets the explanation alone.
void explain_input(QWidget* field, const QString& explanation);

}  // namespace headroom::gui
