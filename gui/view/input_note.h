#pragma once

#include <QLabel>

namespace headroom::gui {

/// A line below a field that says what is wrong with it; hidden while it is empty.
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
