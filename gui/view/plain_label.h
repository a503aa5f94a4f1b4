#pragma once

#include <QLabel>

namespace headroom::gui {

/// A label that shows its text as it is. Qt's own takes a text with tags for HTML, and texts come from files:
/// an `<img>` in a plan would be loaded, from wherever it says.
class PlainLabel : public QLabel {
 public:
  explicit PlainLabel(QWidget* parent = nullptr) : QLabel(parent) { setTextFormat(Qt::PlainText); }
  explicit PlainLabel(const QString& text, QWidget* parent = nullptr) : PlainLabel(parent) { setText(text); }
};

}  // namespace headroom::gui
