#include "gui/view/say_failure.h"

#include <QMessageBox>

namespace headroom::gui {

void say_failure(QWidget* parent, const QString& title, const QString& what) {
  QMessageBox box(QMessageBox::Warning, title, {}, QMessageBox::Ok, parent);
  box.setTextFormat(Qt::PlainText);  // set before the text, which contains names of files
  box.setText(what);
  box.exec();
}

}  // namespace headroom::gui
