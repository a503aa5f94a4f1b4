#include "gui/view/plain_text.h"

#include <QMessageBox>

namespace headroom::gui {

QLabel* paragraph(QWidget* parent) {
  auto* label = new PlainLabel(parent);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

void show_as_warning(QLabel& label, bool warns) {
  // A translucent tint, so that the theme's background and text colour stay.
  label.setStyleSheet(warns ? QStringLiteral("QLabel { background: rgba(230, 159, 0, 45); border: 1px solid "
                                             "rgba(230, 159, 0, 160); padding: 4px 8px; }")
                            : QString());
}

QLabel* warning(QWidget* parent) {
  QLabel* label = paragraph(parent);
  show_as_warning(*label, true);
  label->hide();
  return label;
}

void say_failure(QWidget* parent, const QString& title, const QString& what) {
  QMessageBox box(QMessageBox::Warning, title, {}, QMessageBox::Ok, parent);
  box.setTextFormat(Qt::PlainText);  // set before the text, which contains names of files
  box.setText(what);
  box.exec();
}

}  // namespace headroom::gui
