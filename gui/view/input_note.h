#pragma once

#include <QLabel>

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

}  // namespace headroom::gui
