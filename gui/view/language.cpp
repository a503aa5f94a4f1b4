#include "gui/view/language.h"

#include <QCoreApplication>
#include <QLibraryInfo>
#include <QLocale>

static void make_translations_known() {
  Q_INIT_RESOURCE(translations);  // must stand outside of namespaces
}

namespace headroom::gui {
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
