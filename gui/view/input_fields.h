#pragma once

#include <QLabel>
#include <QString>
#include <functional>

class QWidget;

namespace headroom::gui {

/// Error line below a field; hidden if empty.
class InputNote : public QLabel {
  Q_OBJECT
 public:
  explicit InputNote(QWidget* parent = nullptr);
  void say(const QString& text);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void colour();
};

/// A field with a button that opens a dialog, as one widget. The field takes the focus. `caption` is the
/// dialog's title and the button's name for screen readers.
QWidget* with_chooser(QWidget* field, const QString& tooltip, const QString& caption,
                      const std::function<void()>& choose);

}  // namespace headroom::gui
