#pragma once

#include <QFontMetricsF>
#include <QLabel>
#include <QString>
#include <QToolTip>

#include "gui/model/figure_text.h"

class QPushButton;
class QWidget;

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

/// Marks the button for the most usual next step among several.
void make_primary(QPushButton& button);

/// Highlights a paragraph that warns of an unexpected state.
void show_as_warning(QLabel& label, bool warns);

/// A highlighted paragraph that warns of an unexpected state. Hidden at first.
QLabel* warning(QWidget* parent);

/// Shows an error in a modal box over `parent` and waits until it is closed.
void say_failure(QWidget* parent, const QString& title, const QString& what);

/// Shows plain text as a tooltip (plain_tooltip()). An empty text hides the current one.
inline void show_tooltip(const QPoint& at, const QString& text, QWidget* over) {
  QToolTip::showText(at, plain_tooltip(text), over);
}

/// The longest tail of a layer's name that fits the width: "res1.conv1" of "up3.res1.conv1". Empty if even
/// the last part is too wide. Other texts are not cut: the result is the whole text or empty.
QString fitting_name(const QString& name, const QFontMetricsF& metrics, double width);

/// The whole name if it fits. Otherwise "…" and the longest tail that fits, at least the last part.
QString shortened_name(const QString& name, const QFontMetricsF& metrics, double width);

}  // namespace headroom::gui
