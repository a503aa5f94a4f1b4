#pragma once

#include <QString>
#include <QStringList>
#include <string>

namespace headroom::gui {

/// A sentence that a library or a program wrote, in the window's language as far as it is known: as one of
/// known_sentences() with other words in its places, or part by part between commas. Names, numbers and
/// what nobody knows stay as they are.
QString sentence_text(const QString& text);
QString sentence_text(const std::string& text);

/// What libraries and programs say, with %1, %2 … where their words differ. Each is in the catalogue of every
/// language, in the context "sentences".
const QStringList& known_sentences();

}  // namespace headroom::gui
