#pragma once

#include <QString>
#include <QTranslator>

namespace headroom::gui {

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
