#include "gui/view/window_settings.h"

#include <QCoreApplication>
#include <QLibraryInfo>
#include <QLocale>

static void make_translations_known() {
  Q_INIT_RESOURCE(translations);  // must stand outside of namespaces
}

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

namespace {

const QString kSystem = QStringLiteral("system"), kEnglish = QStringLiteral("en"),
              kChinese = QStringLiteral("zh_CN");

QString language_of_system() {
  const QStringList wanted = QLocale::system().uiLanguages();
  return !wanted.isEmpty() && wanted.first().startsWith(QLatin1String("zh")) ? kChinese : kEnglish;
}

}  // namespace

bool is_language(const QString& code) {
  return code == kSystem || code == kEnglish || code == kChinese;
}

Language::~Language() {
  QCoreApplication::removeTranslator(&ours_);
  QCoreApplication::removeTranslator(&qts_);
}

void Language::use(const QString& code) {
  make_translations_known();
  code_ = is_language(code) ? code : kSystem;
  QCoreApplication::removeTranslator(&ours_);
  QCoreApplication::removeTranslator(&qts_);
  const QString name = code_ == kSystem ? language_of_system() : code_;
  if (name == kEnglish) return;
  // Qt's own translations, if installed. Ours take precedence and include the buttons of dialogs.
  if (qts_.load(QStringLiteral("qtbase_") + name, QLibraryInfo::path(QLibraryInfo::TranslationsPath)))
    QCoreApplication::installTranslator(&qts_);
  if (ours_.load(QStringLiteral(":/translations/headroom_") + name))
    QCoreApplication::installTranslator(&ours_);
}

}  // namespace headroom::gui
