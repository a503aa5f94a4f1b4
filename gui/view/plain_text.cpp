#include "gui/view/plain_text.h"

#include <QMessageBox>
#include <QPushButton>

namespace headroom::gui {

QLabel* paragraph(QWidget* parent) {
  auto* label = new PlainLabel(parent);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

void make_primary(QPushButton& button) {
  button.setDefault(true);  // styles draw it in the colour of highlights
  QFont font = button.font();
  font.setBold(true);
  button.setFont(font);
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

QString fitting_name(const QString& name, const QFontMetricsF& metrics, double width) {
  QString rest = name;
  while (metrics.horizontalAdvance(rest) > width) {
    const qsizetype dot = rest.indexOf(QLatin1Char('.'));
    if (dot < 0 || rest.contains(QLatin1Char(' '))) return {};
    rest.remove(0, dot + 1);
  }
  return rest;
}

QString shortened_name(const QString& name, const QFontMetricsF& metrics, double width) {
  if (metrics.horizontalAdvance(name) <= width) return name;
  const QString dots = QStringLiteral("…");
  const QString parts = fitting_name(name, metrics, width - metrics.horizontalAdvance(dots));
  return dots + (parts.isEmpty() ? name.mid(name.lastIndexOf(QLatin1Char('.')) + 1) : parts);
}

}  // namespace headroom::gui
