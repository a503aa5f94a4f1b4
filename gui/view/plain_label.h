#pragma once

#include <QLabel>

namespace headroom::gui {

/// A label that shows plain text. Qt's own label renders text with tags as HTML, and texts from files are
/// untrusted. For example, it would load an `<img>` that a plan names.
class PlainLabel : public QLabel {
 public:
  explicit PlainLabel(QWidget* parent = nullptr) : QLabel(parent) { setTextFormat(Qt::PlainText); }
  explicit PlainLabel(const QString& text, QWidget* parent = nullptr) : PlainLabel(parent) { setText(text); }
};

}  // namespace headroom::gui
