#include "gui/model/figure_text.h"

#include <QCoreApplication>
#include <QTextDocument>

#include "decoder/base/short_name.h"

namespace headroom::gui {
namespace {

QString translated(const QString& text) {
  return QCoreApplication::translate("figures", text.toUtf8().constData());
}

/// The text with its longest known ending translated. An ending begins after a space. In "a / b", both parts
/// are names.
QString with_known_ending(const QString& text) {
  for (qsizetype space = text.indexOf(QLatin1Char(' ')); space >= 0;
       space = text.indexOf(QLatin1Char(' '), space + 1)) {
    if (space > 0 && text[space - 1] == QLatin1Char('/')) continue;
    const QString word = text.mid(space + 1), translation = translated(word);
    if (!word.isEmpty() && translation != word) return text.left(space + 1) + translation;
  }
  return text;
}

}  // namespace

QStringList full_names(const QString& text) {
  QStringList names;
  for (const std::string& name : headroom::full_names(text.toStdString()))
    names << QString::fromStdString(name);
  return names;
}

QString with_short_names(const QString& text) {
  if (!text.contains(QLatin1String("decoder."))) return text;
  return QString::fromStdString(headroom::with_short_names(text.toStdString()));
}

QString figure_text(const std::string& text) {
  const QString whole = with_short_names(QString::fromStdString(text));
  if (whole.isEmpty()) return whole;
  const QString known = translated(whole);
  if (known != whole) return known;
  // The longest known beginning that ends before a space, a colon or a comma.
  for (qsizetype end = whole.size() - 1; end > 0; --end) {
    if (!QStringLiteral(" :,").contains(whole[end])) continue;
    const QString word = whole.left(end), translation = translated(word);
    if (translation != word) return translation + with_known_ending(whole.mid(end));
  }
  return with_known_ending(whole);
}

QString figure_text(reports::Unit unit, double value) {
  const QString text = QString::fromStdString(reports::format(unit, value));
  const qsizetype space = text.lastIndexOf(QLatin1Char(' '));
  if (space < 0) return text;
  return text.left(space + 1) + translated(text.mid(space + 1));
}

QString plain_tooltip(const QString& text) {
  return Qt::mightBeRichText(text) ? Qt::convertFromPlainText(text, Qt::WhiteSpaceNormal) : text;
}

}  // namespace headroom::gui
