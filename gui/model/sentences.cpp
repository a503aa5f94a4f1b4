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
    QT_TRANSLATE_NOOP("sentences",
                      "%1: has no config.json nor vae/config.json (%2: no such file): expected a VAE's or a "
                      "pipeline's folder, as diffusers' save_pretrained() writes it, or a .safetensors file"),
    QT_TRANSLATE_NOOP(
        "sentences",
        "%1: expected a folder, a .safetensors checkpoint or a built-in name; other checkpoints become one "
        "by safetensors.torch.save_file(torch.load(FILE, weights_only=True), …)"),
    QT_TRANSLATE_NOOP(
        "sentences",
        "%1: no built-in model has a decoder of these tensors: put diffusers' config.json beside the file "
        "(the one there is not of a decoder that is known here), or give --model FOLDER --weights FILE"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: no built-in model has a decoder of these tensors: put diffusers' config.json "
                      "beside the file, or give --model FOLDER --weights FILE"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: has no VAE: no tensor under first_stage_model., vae. or decoder.; expected the "
                      "VAE's own file, or a checkpoint that includes it"),
    QT_TRANSLATE_NOOP(
        "sentences",
        "%1: %2 have these tensors alike: say which (%3), or put its config.json beside the file"),
    QT_TRANSLATE_NOOP("sentences", "%1: %2 decodes single pictures; expected 1, found %3"),
    QT_TRANSLATE_NOOP("sentences", "%1: expected %2, found %3; the nearest is %4"),
    QT_TRANSLATE_NOOP(
        "sentences",
        "%1: this seems to be JSON of another program: it has no key \"schema\"; opened here "
        "are Headroom's plans, statistics, traces, profiles and frontiers (.json), and PyTorch's "
        "memory snapshots (.pickle) and profiler traces (.json, .json.gz)"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: this seems to be %2; opened here are Headroom's plans, statistics, traces, "
                      "profiles and frontiers (.json), and PyTorch's memory snapshots (.pickle) and profiler "
                      "traces (.json, .json.gz)"),
    QT_TRANSLATE_NOOP("sentences",
                      "warning: latent as given, yet its %1 is a pipeline's (%2): a wrong picture without "
                      "--latent-scale model"),
    QT_TRANSLATE_NOOP("sentences",
                      "--latent-scale auto: the latent's %1 leaves open what it is (%2): --latent-scale "
                      "model or --latent-scale none"),
    QT_TRANSLATE_NOOP("sentences", "latent taken as a pipeline's and its scaling undone: %1"),
    QT_TRANSLATE_NOOP("sentences", "latent taken as the decoder's own input: %1"),
    QT_TRANSLATE_NOOP(
        "sentences",
        "latent as given, %1; latents of this model's pipelines are scaled: --latent-scale model"),
    QT_TRANSLATE_NOOP("sentences", "latent as given, %1, as the decoder's own input has (%2)"),
    QT_TRANSLATE_NOOP("sentences", "latent as given; pipelines scale theirs: --latent-scale model"),
    QT_TRANSLATE_NOOP("sentences", "a pipeline's has about 1"),
    QT_TRANSLATE_NOOP("sentences", "the decoder's own input %1"),
    QT_TRANSLATE_NOOP("sentences", "standard deviation %1"),
    QT_TRANSLATE_NOOP("sentences",
                      "no plan was found in time; headroom-plan searches for as long as it takes"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: its model %2 is neither in this folder nor in the file's or one above it: name "
                      "the model's folder "
                      "with --model DIR"),
    QT_TRANSLATE_NOOP("sentences", "%1: the plan is for the model %2, not for %3 (%4)"),
    QT_TRANSLATE_NOOP("sentences", "%1; the plan is for the model %2: name that one with --model DIR"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: schema: expected headroom.plan, headroom.stats, headroom.trace, headroom.profile, "
                      "headroom.recording or headroom.frontier, found %2"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: %2: written by a newer Headroom: version %3, this one reads up to %4"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: this pickle is damaged or cut off: byte %2: expected %3 bytes of %4, found %5 "
                      "before the end of the file"),
    QT_TRANSLATE_NOOP("sentences", "%1: this pickle is damaged or cut off: byte %2: expected %3, found %4"),
    QT_TRANSLATE_NOOP("sentences", "%1: this gzip file is damaged at byte %2"),
    QT_TRANSLATE_NOOP("sentences", "%1: this gzip file is cut off at byte %2"),
    QT_TRANSLATE_NOOP("sentences",
                      "%1: expected a text that gzip packs at most %2-fold, found one that unpacks to more "
                      "than %3: unpack it yourself if it is what it says"),
    QT_TRANSLATE_NOOP("sentences", "%1: expected at most %2 when unpacked, found more"),
    QT_TRANSLATE_NOOP("sentences", "%1: parse error at %2"),
    QT_TRANSLATE_NOOP("sentences", "%1: no such file"),
    QT_TRANSLATE_NOOP("sentences", "%1: cannot be opened"),
    QT_TRANSLATE_NOOP("sentences", "%1: too short for a safetensors file: %2 bytes"),
    QT_TRANSLATE_NOOP("sentences", "%1: cannot be read"),
    QT_TRANSLATE_NOOP("sentences", "%1: cannot be written"),
    QT_TRANSLATE_NOOP("sentences", "%1: %2: missing"),
    QT_TRANSLATE_NOOP("sentences", "%1: expected %2, found %3 (use %4 or %5)"),
    QT_TRANSLATE_NOOP("sentences", "%1: expected %2, found %3"),
    QT_TRANSLATE_NOOP("sentences", "%1: expected %2"),
    QT_TRANSLATE_NOOP("sentences", "expected %1, found %2"),
    QT_TRANSLATE_NOOP("sentences", "expected %1"),
    QT_TRANSLATE_NOOP("sentences", "a width that is a multiple of %1 up to %2"),
    QT_TRANSLATE_NOOP("sentences", "a width that is a multiple of %1"),
    QT_TRANSLATE_NOOP("sentences", "a height that is a multiple of %1 up to %2"),
    QT_TRANSLATE_NOOP("sentences", "a height that is a multiple of %1"),
    QT_TRANSLATE_NOOP("sentences", "an integer from %1 to %2"),
    QT_TRANSLATE_NOOP("sentences", "%1 and a multiple of %2"),
    QT_TRANSLATE_NOOP("sentences", "a number of at least %1"),
    QT_TRANSLATE_NOOP("sentences", "a number other than 0"),
    QT_TRANSLATE_NOOP("sentences", "bytes such as 2GiB, 512MiB or 1000000"),
    QT_TRANSLATE_NOOP("sentences", "WIDTHxHEIGHT in pixels such as 1024x768"),
    QT_TRANSLATE_NOOP("sentences", "a folder with config.json, a .safetensors checkpoint, or one of %1"),
    QT_TRANSLATE_NOOP("sentences", "%1 passes and %2 kept tensors equal left out"),
    QT_TRANSLATE_NOOP("sentences", "%1 equal left out"),
    QT_TRANSLATE_NOOP("sentences", "%1 tile of %2"),
    QT_TRANSLATE_NOOP("sentences", "%1 tiles of %2"),
    QT_TRANSLATE_NOOP("sentences", "above row %1"),
    QT_TRANSLATE_NOOP("sentences", "from row %1 on"),
    QT_TRANSLATE_NOOP("sentences", "rows carried"),
    QT_TRANSLATE_NOOP("sentences", "upsampled conv %1"),
    QT_TRANSLATE_NOOP("sentences", "upsampled winograd %1"),
    QT_TRANSLATE_NOOP("sentences", "conv %1 in %2"),
    QT_TRANSLATE_NOOP("sentences", "statistics %1 in %2"),
    QT_TRANSLATE_NOOP("sentences", "key-value sums of %1"),
    QT_TRANSLATE_NOOP("sentences", "linear attention of %1"),
    QT_TRANSLATE_NOOP("sentences", "%1 heads of %2"),
    QT_TRANSLATE_NOOP("sentences", "memory snapshot of PyTorch"),
    QT_TRANSLATE_NOOP("sentences", "trace of PyTorch's profiler"),
    QT_TRANSLATE_NOOP("sentences", "%1 records"),
    QT_TRANSLATE_NOOP("sentences", "%1 record"),
    QT_TRANSLATE_NOOP("sentences", "out of memory"),
    QT_TRANSLATE_NOOP("sentences", "%1; %2"),
    QT_TRANSLATE_NOOP("sentences", "%1 <- %2"),
    QT_TRANSLATE_NOOP("sentences", "%1 (tile)"),
    QT_TRANSLATE_NOOP("sentences", "%1 pad %2"),
    QT_TRANSLATE_NOOP("sentences", "request %1"),
    QT_TRANSLATE_NOOP("sentences", "pass %1, step %2: %3"),
    QT_TRANSLATE_NOOP("sentences", "%1 halo %2"),
    QT_TRANSLATE_NOOP("sentences", "%1 over %2."),
    QT_TRANSLATE_NOOP("sentences", "%1 at the peak"),
    QT_TRANSLATE_NOOP("sentences", "%1 before the recording"),
    QT_TRANSLATE_NOOP("sentences", "driver %1"),
    QT_TRANSLATE_NOOP("sentences", "Headroom %1 for %2"),
    QT_TRANSLATE_NOOP("sentences", "more than 0 bytes"),
    QT_TRANSLATE_NOOP("sentences", "from %1 and %2 to %3 and %4"),
    QT_TRANSLATE_NOOP("sentences", "from %1 to %2"),
    QT_TRANSLATE_NOOP("sentences", "peak %1 at most"),
    QT_TRANSLATE_NOOP("sentences", "%1, by assumed costs"),
    QT_TRANSLATE_NOOP("sentences", "%1 by assumed costs"),
    QT_TRANSLATE_NOOP("sentences", "by assumed costs"),
    QT_TRANSLATE_NOOP("sentences", "limit %1"),
    QT_TRANSLATE_NOOP("sentences", "peak %1"),
    QT_TRANSLATE_NOOP("sentences", "no limit"),
    QT_TRANSLATE_NOOP("sentences", "batch %1"),
    QT_TRANSLATE_NOOP("sentences", "and %1 more"),
    QT_TRANSLATE_NOOP("sentences", "%1 sent"),
    QT_TRANSLATE_NOOP("sentences", "%1 pass"),
    QT_TRANSLATE_NOOP("sentences", "%1 passes"),
    QT_TRANSLATE_NOOP("sentences", "%1 frames"),
    QT_TRANSLATE_NOOP("sentences", "%1 threads"),
    QT_TRANSLATE_NOOP("sentences", "%1 thread"),
    QT_TRANSLATE_NOOP("sentences", "%1 events"),
    QT_TRANSLATE_NOOP("sentences", "%1 plans"),
    QT_TRANSLATE_NOOP("sentences", "%1 ranks"),
    QT_TRANSLATE_NOOP("sentences", "%1 decodes"),
    QT_TRANSLATE_NOOP("sentences", "an object"),
    QT_TRANSLATE_NOOP("sentences", "an array"),
    QT_TRANSLATE_NOOP("sentences", "a number"),
    QT_TRANSLATE_NOOP("sentences", "a string"),
    QT_TRANSLATE_NOOP("sentences", "true or false"),
    QT_TRANSLATE_NOOP("sentences", "held by another profiler"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI activities"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI kernels"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI copies"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI memory"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI pools"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI calls"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI scopes"),
    QT_TRANSLATE_NOOP("sentences", "CUPTI in host memory"),
    QT_TRANSLATE_NOOP("sentences", "allocator"),
    QT_TRANSLATE_NOOP("sentences", "JSON that is damaged or cut off in line %1"),
    QT_TRANSLATE_NOOP("sentences", "a picture (PNG)"),
    QT_TRANSLATE_NOOP("sentences", "a picture (JPEG)"),
    QT_TRANSLATE_NOOP("sentences", "a picture (GIF)"),
    QT_TRANSLATE_NOOP("sentences", "a picture, a sound or a clip (RIFF)"),
    QT_TRANSLATE_NOOP("sentences", "a picture (PPM)"),
    QT_TRANSLATE_NOOP("sentences", "a clip (Y4M)"),
    QT_TRANSLATE_NOOP("sentences", "an array (NumPy's .npy)"),
    QT_TRANSLATE_NOOP("sentences", "weights (GGUF)"),
    QT_TRANSLATE_NOOP("sentences", "a document (PDF)"),
    QT_TRANSLATE_NOOP("sentences",
                      "a compressed file (gzip) of one of Headroom's, which are opened unpacked"),
    QT_TRANSLATE_NOOP("sentences", "a compressed file (gzip) without a trace of PyTorch's profiler in it"),
    QT_TRANSLATE_NOOP("sentences", "a program"),
    QT_TRANSLATE_NOOP("sentences", "a web page"),
    QT_TRANSLATE_NOOP("sentences", "an empty file"),
    QT_TRANSLATE_NOOP("sentences", "a compressed folder (zip)"),
    QT_TRANSLATE_NOOP("sentences", "a file of PyTorch's torch.save"),
    QT_TRANSLATE_NOOP("sentences", "a file of Python's pickle"),
    QT_TRANSLATE_NOOP("sentences", "weights or a latent (.safetensors)"),
    QT_TRANSLATE_NOOP("sentences", "nothing but spaces"),
    QT_TRANSLATE_NOOP("sentences", "a list in JSON"),
    QT_TRANSLATE_NOOP("sentences", "a binary file of another program"),
    QT_TRANSLATE_NOOP("sentences", "a text that is no JSON"),
    QT_TRANSLATE_NOOP("sentences", "a folder"),
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
  // What is known whole, such as a heading's explanation, before any pattern that fits it too.
  const QString whole = QCoreApplication::translate("figures", text.toUtf8().constData());
  if (whole != text) return whole;
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
