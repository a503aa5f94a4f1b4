#pragma once

#include <QString>
#include <QTranslator>

namespace headroom::gui {

/// The language of all windows: puts catalogues into the application and takes them out again when it goes.
class Language {
 public:
  Language() = default;
  ~Language();
  Language(const Language&) = delete;
  Language& operator=(const Language&) = delete;

  /// "en", "zh_CN", or "system" for the one of these that the desktop asks for. Widgets that exist keep their
  /// texts.
  void use(const QString& code);
  const QString& code() const { return code_; }  ///< as asked for

 private:
  QTranslator ours_, qts_;
  QString code_ = QStringLiteral("en");
};

/// True if there is a catalogue of this name; "system" and "en" count.
bool is_language(const QString& code);

}  // namespace headroom::gui
