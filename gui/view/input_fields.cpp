#include "gui/view/input_fields.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QStyle>
#include <QToolButton>

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

QWidget* with_chooser(QWidget* field, const QString& tooltip, const QString& caption,
                      const std::function<void()>& choose) {
  auto* editor = new QWidget(field->parentWidget());
  auto* row = new QHBoxLayout(editor);
  row->setContentsMargins({});
  row->addWidget(field, 1);
  auto* button = new QToolButton(editor);
  button->setIcon(editor->style()->standardIcon(QStyle::SP_DirOpenIcon));
  button->setToolTip(tooltip);
  button->setAccessibleName(caption);
  button->setFocusPolicy(Qt::TabFocus);
  QObject::connect(button, &QToolButton::clicked, editor, choose);
  row->addWidget(button);
  editor->setFocusProxy(field);
  return editor;
}

}  // namespace headroom::gui
