#pragma once

#include <QByteArray>
#include <QMap>
#include <QSettings>
#include <QSize>
#include <QString>
#include <QStringList>
#include <QTranslator>

namespace headroom::gui {

/// Settings that the window keeps from one start to the next.
struct WindowSettings {
  QString language = QStringLiteral("system");
  QString page = QStringLiteral("start");
  QStringList recent_files;         ///< newest first
  QByteArray geometry;              ///< empty: the default size
  QByteArray docks;                 ///< layout of docks and tool bars
  QMap<QString, QByteArray> views;  ///< splitters by page and name
};

WindowSettings read_settings(QSettings& from);
void write_settings(QSettings& to, const WindowSettings& settings);

/// The language of all windows. Installs translation catalogues in the application. The destructor removes
/// them.
class Language {
 public:
  Language() = default;
  ~Language();
  Language(const Language&) = delete;
  Language& operator=(const Language&) = delete;

  /// Sets the language: "en", "zh_CN", or "system" for the desktop's. Existing widgets keep their texts.
  void use(const QString& code);
  const QString& code() const { return code_; }  ///< the argument of the last use()

 private:
  QTranslator ours_, qts_;
  QString code_ = QStringLiteral("en");
};

/// True if there is a catalogue of this name; "system" and "en" count.
bool is_language(const QString& code);

}  // namespace headroom::gui
