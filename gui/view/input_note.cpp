#include "gui/view/input_note.h"

#include <QEvent>

#include "gui/view/colours.h"

namespace headroom::gui {

InputNote::InputNote(QWidget* parent) : QLabel(parent) {
  setWordWrap(true);
  setTextFormat(Qt::PlainText);
  colour();
  hide();
}

void InputNote::say(const QString& text) {
  setText(text);
  setVisible(!text.isEmpty());
}

void InputNote::changeEvent(QEvent* event) {
  QLabel::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::ParentChange) colour();
}

void InputNote::colour() {
  const QPalette around = parentWidget() != nullptr ? parentWidget()->palette() : QPalette();
  const QColor wanted = colour_of(reports::ColourRole::limit, around);
  if (palette().color(QPalette::WindowText) == wanted) return;
  QPalette own;
  own.setColor(QPalette::WindowText, wanted);
  setPalette(own);
}

}  // namespace headroom::gui
