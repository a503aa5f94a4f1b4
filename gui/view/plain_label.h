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

/// Plain text that wraps and can be selected.
QLabel* paragraph(QWidget* parent);

/// Highlights a paragraph that warns of an unexpected state.
void show_as_warning(QLabel& label, bool warns);

/// A highlighted paragraph that warns of an unexpected state. Hidden at first.
QLabel* warning(QWidget* parent);

}  // namespace headroom::gui
