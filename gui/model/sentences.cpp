#include "gui/model/sentences.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <utility>
#include <vector>

#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

/// The more of its own words a sentence has, the earlier it stands: the first that fits is taken.
constexpr const char* kKnownSentences[] = {
    QT_TRANSLATE_NOOP("sentences", "limit %1"),
};

struct Pattern {
  QString source;
  QRegularExpression expression;
  std::vector<int> places;  ///< the number of each capture's place: 1 for %1
};

Pattern pattern_of(const char* source) {
  Pattern pattern{QString::fromUtf8(source), {}, {}};
  QString expression = QStringLiteral("^");
  for (qsizetype i = 0; i < pattern.source.size(); ++i) {
    const bool place = pattern.source[i] == QLatin1Char('%') && i + 1 < pattern.source.size() &&
                       pattern.source[i + 1].isDigit();
    if (place) {
      pattern.places.push_back(pattern.source[++i].digitValue());
      expression += QStringLiteral("(.+?)");
    } else {
      expression += QRegularExpression::escape(pattern.source.mid(i, 1));
    }
  }
  pattern.expression =
      QRegularExpression(expression + QLatin1Char('$'), QRegularExpression::DotMatchesEverythingOption);
  return pattern;
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> made;
    for (const char* sentence : kKnownSentences) made.push_back(pattern_of(sentence));
    return made;
  }();
  return all;
}

/// `text` with the words of its places, all at once: a word may look like a place itself.
QString filled(const QString& text, const std::vector<std::pair<int, QString>>& words) {
  QString whole;
  for (qsizetype i = 0; i < text.size(); ++i) {
    const int place = text[i] == QLatin1Char('%') && i + 1 < text.size() ? text[i + 1].digitValue() : -1;
    if (place < 0) {
      whole += text[i];
      continue;
    }
    ++i;
    for (const auto& [number, word] : words) {
      if (number == place) whole += word;
    }
  }
  return whole;
}

}  // namespace

const QStringList& known_sentences() {
  static const QStringList all = [] {
    QStringList made;
    for (const char* sentence : kKnownSentences) made << QString::fromUtf8(sentence);
    return made;
  }();
  return all;
}

QString sentence_text(const QString& text) {
  if (text.isEmpty()) return text;
  for (const Pattern& pattern : patterns()) {
    const QString known = QCoreApplication::translate("sentences", pattern.source.toUtf8().constData());
    if (known == pattern.source) continue;  // the window's language is that of the libraries
    const QRegularExpressionMatch match = pattern.expression.match(text);
    if (!match.hasMatch()) continue;
    std::vector<std::pair<int, QString>> words;
    for (size_t i = 0; i < pattern.places.size(); ++i)
      words.emplace_back(pattern.places[i], sentence_text(match.captured(static_cast<int>(i) + 1)));
    return filled(known, words);
  }
  const QString comma = QStringLiteral(", ");
  if (!text.contains(comma)) return figure_text(text.toStdString());
  QStringList parts;
  for (const QString& part : text.split(comma)) parts << sentence_text(part);
  return parts.join(QCoreApplication::translate("sentences", ", "));
}

QString sentence_text(const std::string& text) {
  return sentence_text(QString::fromStdString(text));
}

}  // namespace headroom::gui
