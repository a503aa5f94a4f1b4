#pragma once

#include <QString>
#include <functional>

class QWidget;

namespace headroom::gui {

/// A field with a button beside it that opens a dialog, as one widget whose focus is the field's. `caption`
/// is the dialog's, and the button's name for those who cannot see it.
QWidget* with_chooser(QWidget* field, const QString& tooltip, const QString& caption,
                      const std::function<void()>& choose);

}  // namespace headroom::gui
