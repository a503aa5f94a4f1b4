#include "gui/view/window_settings.h"

namespace headroom::gui {
namespace {

const QString kLanguage = QStringLiteral("window/language"), kPage = QStringLiteral("window/page"),
              kRecent = QStringLiteral("window/recent_files"), kGeometry = QStringLiteral("window/geometry"),
              kDocks = QStringLiteral("window/docks"), kViews = QStringLiteral("views");

}  // namespace

WindowSettings read_settings(QSettings& from) {
  WindowSettings settings;
  settings.language = from.value(kLanguage, settings.language).toString();
  settings.page = from.value(kPage, settings.page).toString();
  settings.recent_files = from.value(kRecent).toStringList();
  settings.geometry = from.value(kGeometry).toByteArray();
  settings.docks = from.value(kDocks).toByteArray();
  from.beginGroup(kViews);
  for (const QString& key : from.allKeys()) settings.views[key] = from.value(key).toByteArray();
  from.endGroup();
  return settings;
}

void write_settings(QSettings& to, const WindowSettings& settings) {
  to.setValue(kLanguage, settings.language);
  to.setValue(kPage, settings.page);
  to.setValue(kRecent, settings.recent_files);
  to.setValue(kGeometry, settings.geometry);
  to.setValue(kDocks, settings.docks);
  to.remove(kViews);
  to.beginGroup(kViews);
  for (auto view = settings.views.begin(); view != settings.views.end(); ++view)
    to.setValue(view.key(), view.value());
  to.endGroup();
}

}  // namespace headroom::gui
