#include "gui/view/fitting_name.h"

namespace headroom::gui {

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
