// In Chinese no page keeps an English word.

#include <QAbstractButton>
#include <QAbstractItemModel>
#include <QAbstractItemView>
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QRegularExpression>
#include <QStatusBar>
#include <QTabBar>
#include <QTest>
#include <catch2/catch.hpp>

#include "decoder/graph/amounts.h"
#include "decoder/graph/built_in_models.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/model.h"
#include "decoder/weights/open_model.h"
#include "gui/model/figure_text.h"
#include "gui/model/sentences.h"
#include "gui/view/chart_view.h"
#include "gui/view/language.h"
#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"
#include "gui/view/screenshots.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::open;
using test::sample_files;

/// Texts by where they stand.
using Texts = QMap<QString, QString>;

void add(Texts& texts, const QString& where, const QString& text) {
  if (!text.trimmed().isEmpty()) texts[text] = where;
}

void add_model(Texts& texts, const QString& where, const QAbstractItemModel& model,
               const QModelIndex& parent) {
  constexpr int kRows = 40;
  for (int column = 0; column < model.columnCount(parent); ++column) {
    for (const int role : {int(Qt::DisplayRole), int(Qt::ToolTipRole)}) {
      add(texts, where + " heading", model.headerData(column, Qt::Horizontal, role).toString());
      for (int row = 0; row < std::min(model.rowCount(parent), kRows); ++row)
        add(texts, where, model.index(row, column, parent).data(role).toString());
    }
  }
  for (int row = 0; row < std::min(model.rowCount(parent), kRows); ++row) {
    const QModelIndex index = model.index(row, 0, parent);
    if (model.hasChildren(index)) add_model(texts, where, model, index);
  }
}

void add_chart(Texts& texts, const QString& where, const reports::Chart& chart) {
  // As ChartView draws them.
  add(texts, where, figure_text(chart.title));
  for (const reports::ChartAxis& axis : {chart.x, chart.y}) add(texts, where, figure_text(axis.title));
  for (const reports::Series& series : chart.series) add(texts, where, figure_text(series.name));
  for (const reports::Guide& guide : chart.guides) add(texts, where, figure_text(guide.label));
  for (const reports::Note& note : chart.notes) add(texts, where, figure_text(note.text));
  if (chart.strip) add(texts, where, figure_text(chart.strip->name));
}

void add_widget(Texts& texts, const QString& page, const QWidget& widget) {
  const QString where = page + "/" + widget.metaObject()->className() + " " + widget.objectName();
  add(texts, where, widget.toolTip());
  add(texts, where, widget.accessibleName());
  add(texts, where, widget.accessibleDescription());
  if (const auto* label = qobject_cast<const QLabel*>(&widget)) add(texts, where, label->text());
  if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) add(texts, where, button->text());
  if (const auto* line = qobject_cast<const QLineEdit*>(&widget)) add(texts, where, line->placeholderText());
  if (const auto* box = qobject_cast<const QComboBox*>(&widget)) add_model(texts, where, *box->model(), {});
  if (const auto* bar = qobject_cast<const QStatusBar*>(&widget)) add(texts, where, bar->currentMessage());
  if (const auto* chart = qobject_cast<const ChartView*>(&widget)) add_chart(texts, where, chart->chart());
  if (const auto* view = qobject_cast<const QAbstractItemView*>(&widget)) {
    if (view->model() != nullptr) add_model(texts, where, *view->model(), {});
  }
  if (const auto* tabs = qobject_cast<const QTabBar*>(&widget)) {
    for (int i = 0; i < tabs->count(); ++i) add(texts, where, tabs->tabText(i));
  }
}

/// What is the same in every language. Words that stand here for themselves are proper names, units, options,
/// keys of files, functions of torch, and what the sample files were given for names.
const QList<QRegularExpression>& names() {
  static const QList<QRegularExpression> all = [] {
    QList<QRegularExpression> list{
        QRegularExpression("<[^>]*>"),                                              // tags
        QRegularExpression("headroom-[a-z]+( [a-z]+)?( --?[a-z-]+( [\\w.,]+)?)*"),  // commands
        QRegularExpression("--[a-z-]+( auto)?"),
        QRegularExpression("\"[a-z]+\"|\\w+=True"),
        QRegularExpression("[\\w.%~-]*/[\\w./%~-]*"),                // paths
        QRegularExpression("[\\w-]+[._:]\\w[\\w.:]*|\\.[a-z0-9]+"),  // files, layers, endings
        QRegularExpression("\\b\\d[\\dx.>-]*"),                      // numbers and sizes: 3x3, 48->48
        QRegularExpression("\\b\\w+_\\w+\\(\\)"),                    // functions
        QRegularExpression("\\b(KiB|MiB|GiB|FLOP|MFLOP|GFLOP|ms|µs|Ctrl|Esc|Home|End|Enter|Shift)\\b"),
        QRegularExpression("\\b(Headroom|AutoencoderKL|PyTorch|LibTorch|Winograd|Kineto|Chrome|Python|NumPy|"
                           "English|RMS)\\b"),
        QRegularExpression("\\b(fp32|bf16|fp16|avx\\d+|auto|diffusers|torch|torchrun|cuda|cpu|silu|pickle|"
                           "version|latent|json)\\b"),
        QRegularExpression("\\b(forward|interpolate|group_norm|conv|sum)\\b"),
        QRegularExpression("Intel\\(R\\) [\\w() -]*Processor"),  // what the tour was recorded on
        QRegularExpression("\\b(two cores|small|law)\\b")};
    for (const std::string& model : built_in_models())
      list.prepend(QRegularExpression("\\b" + QRegularExpression::escape(QString::fromStdString(model))));
    return list;
  }();
  return all;
}

/// Where an English word stands that is no name; those of capital letters alone are short for something.
QStringList english_in(const Texts& texts) {
  static const QRegularExpression word("\\b[A-Za-z]?[a-z']{2,}");
  QStringList found;
  for (auto text = texts.begin(); text != texts.end(); ++text) {
    QString rest = text.key();
    for (const QRegularExpression& name : names()) rest.replace(name, " 名 ");
    const QRegularExpressionMatch match = word.match(rest);
    if (match.hasMatch()) found << match.captured() + " in " + text.value() + ": " + text.key();
  }
  return found;
}

TEST_CASE("in Chinese no page keeps an English word") {
  WindowSettings settings;
  settings.language = "zh_CN";
  Workspace workspace;
  MainWindow window(workspace, settings);
  window.resize(1280, 800);
  window.show();
  QStringList files = sample_files().all();
  const std::string with = GENERATE("nothing else", "a trace of a GPU", "the tour's files");
  CAPTURE(with);
  if (with == "a trace of a GPU") files << sample_files().file("gpu_trace.json");
  if (with == "the tour's files") {
    for (const char* file : {"plan.json", "stats.json", "trace.json", "profile.json", "frontier.json"})
      files << QString(HEADROOM_TEST_DATA "/../../docs/tour/") + file;
  }
  for (const char* history : {"torch-2.11.pickle", "sdxl-384x256.pickle"})
    files << QString(HEADROOM_TEST_DATA "/memory_histories/") + history;
  open(workspace, files);
  Texts texts;
  for (const Page* page : window.pages()) {
    window.showPage(page->key());
    wait_until_idle(window);
    for (const QWidget* widget : page->findChildren<QWidget*>()) add_widget(texts, page->key(), *widget);
  }
  for (const QWidget* widget : window.findChildren<QWidget*>()) add_widget(texts, "window", *widget);
  for (const QAction* action : window.findChildren<QAction*>()) add(texts, "menu", action->text());
  // Where nothing fits.
  PlanningQuestion question = workspace.question();
  question.options.limit_bytes = 1 << 20;
  question.options.weights = WeightResidency::resident;
  workspace.ask(question);
  window.showPage("frontier");
  wait_until_idle(window);
  for (const QWidget* widget : window.currentPage()->findChildren<QWidget*>())
    add_widget(texts, "frontier, too little", *widget);
  // Files that are refused.
  const test::Scratch folder;
  for (const test::BadFile& bad : test::bad_files()) {
    open(workspace, {QString::fromStdString(folder.write(bad.name, bad.content).string())});
    for (const QString& message : window.messages().messages()) add(texts, "message", message);
    window.messages().dismissAll();
  }
  CHECK(texts.size() > 200);
  for (const QString& found : english_in(texts)) FAIL_CHECK(found.toStdString());
}

TEST_CASE("sentences of libraries: each has a translation that keeps its places") {
  Language language;
  language.use("zh_CN");
  for (const QString& sentence : known_sentences()) {
    CAPTURE(sentence.toStdString());
    const QString known = QCoreApplication::translate("sentences", sentence.toUtf8().constData());
    CHECK(known != sentence);
    for (const char* place : {"%1", "%2", "%3", "%4"})
      CHECK(sentence.contains(place) == known.contains(place));
  }
  language.use("en");
  CHECK(sentence_text(QString("limit 1.0 GiB")) == "limit 1.0 GiB");
}

/// What refused it, in the words of whoever did.
QString refusal(const std::function<void()>& refused) {
  try {
    refused();
  } catch (const InputError& error) {
    return QString::fromStdString(error.what());
  }
  FAIL("nothing was refused");
  return {};
}

TEST_CASE("sentences of libraries: what refuses a model or a size has a translation as it is thrown") {
  const test::Scratch folder;
  const auto file = [&](const char* name, const std::string& content) {
    return folder.write(name, content).string();
  };
  const auto safetensors = [&](const char* name, std::string header) {
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
    return file(name, length + header);
  };
  const Model picture = resolve_model("sdxl"), clip = resolve_model("wan2.1");
  const std::vector<std::function<void()>> refused{
      [&] { open_model((folder / "none").string()); },
      [&] { open_model((folder / "none.safetensors").string()); },
      [&] { open_model(file("model.ckpt", "weights")); },
      [&] { open_model((folder / "").string()); },
      [&] { open_model(safetensors("other.safetensors", "{}")); },
      [&] { parse_bytes("-1", "--limit"); },
      [&] { parse_sizes("64", "--sizes"); },
      [&] { latent_extent(picture, 1020, 1024, 1); },
      [&] { latent_extent(picture, 1024, 1020, 1); },
      [&] { latent_extent(picture, 1024, 1024, 5); },
      [&] { latent_extent(clip, 1024, 1024, 0); },
      [&] { latent_extent(clip, 1024, 1024, 6); }};
  Language language;
  language.use("zh_CN");
  Texts texts;
  for (const std::function<void()>& one : refused) {
    const QString said = refusal(one);
    add(texts, said, sentence_text(said));
  }
  CHECK(texts.size() == static_cast<qsizetype>(refused.size()));
  for (const QString& found : english_in(texts)) FAIL_CHECK(found.toStdString());
  language.use("en");
}

}  // namespace
}  // namespace headroom::gui
