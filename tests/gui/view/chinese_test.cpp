// In Chinese no page keeps an English word, but for what files and libraries say.

#include <QAbstractButton>
#include <QAbstractItemModel>
#include <QAbstractItemView>
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QRegularExpression>
#include <QTabBar>
#include <QTest>
#include <catch2/catch.hpp>

#include "decoder/families/built_in_models.h"
#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/main_window.h"
#include "gui/view/screenshots.h"
#include "tests/gui/support/shown.h"

namespace headroom::gui {
namespace {

using test::open;
using test::sample_files;

/// Texts by where they stand.
using Texts = QMap<QString, QString>;

void add(Texts& texts, const QString& where, const QString& text) {
  if (!text.trimmed().isEmpty()) texts[text] = where;
}

/// Headings alone: cells have what files and libraries say, which stays English.
void add_headings(Texts& texts, const QString& where, const QAbstractItemModel& model) {
  for (int column = 0; column < model.columnCount(); ++column) {
    for (const int role : {int(Qt::DisplayRole), int(Qt::ToolTipRole)})
      add(texts, where, model.headerData(column, Qt::Horizontal, role).toString());
  }
}

void add_chart(Texts& texts, const QString& where, const reports::Chart& chart) {
  // ChartView draws these texts.
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
  if (const auto* box = qobject_cast<const QComboBox*>(&widget)) {
    for (int i = 0; i < box->count(); ++i) add(texts, where, box->itemText(i));
  }
  if (const auto* chart = qobject_cast<const ChartView*>(&widget)) add_chart(texts, where, chart->chart());
  if (const auto* view = qobject_cast<const QAbstractItemView*>(&widget)) {
    if (view->model() != nullptr) add_headings(texts, where, *view->model());
  }
  if (const auto* tabs = qobject_cast<const QTabBar*>(&widget)) {
    for (int i = 0; i < tabs->count(); ++i) add(texts, where, tabs->tabText(i));
  }
}

/// Patterns of text that is not translated. Words that stand here for themselves are proper names, units,
/// options, keys of files, functions of torch, and names in the sample files.
const QList<QRegularExpression>& names() {
  static const QList<QRegularExpression> all = [] {
    QList<QRegularExpression> list{
        // These messages come from libraries.
        QRegularExpression("\\S+ \\S+ fp32, limit [^,]*, peak .*"),
        QRegularExpression("\\bfp32, limit [^；。]* passes|\\S+ over \\S+"),
        QRegularExpression(
            "\\b(This trace and|The peak in|The untiled peak contains|The recording is of) .*"),  // as well
        QRegularExpression("\\b(The peak on|Live then:|No request failed\\.|Headroom decodes|\\w+\\.decode "
                           "is in) .*"),  // as well
        QRegularExpression("\\b(norm|conv) \\S+ halo .*|held by another profiler|CUPTI "
                           "\\w+|allocator|Headroom \\S+ for|GPU records: .*"),
        QRegularExpression("<[^>]*>"),                                              // tags
        QRegularExpression("headroom-[a-z]+( [a-z]+)?( --?[a-z-]+( [\\w.,]+)?)*"),  // commands
        QRegularExpression("--[a-z-]+( auto)?"),
        QRegularExpression("\"[a-z]+\"|\\w+=True"),
        QRegularExpression("[\\w.%~-]*/[\\w./%~-]*"),                               // paths
        QRegularExpression("torch\\.cuda\\.memory\\._record[\\s\\S]*pickle\"\\)"),  // lines of Python
        QRegularExpression("[\\w-]+[._:]\\w[\\w.:]*|\\.[a-z0-9]+"),                 // files, layers, endings
        QRegularExpression("\\b\\d[\\dx.>-]*"),    // numbers and sizes: 3x3, 48->48
        QRegularExpression("\\b\\w+_\\w+\\(\\)"),  // functions
        QRegularExpression("\\b(KiB|MiB|GiB|FLOP|MFLOP|GFLOP|ms|µs|Ctrl|Esc|Home|End|Enter|Shift)\\b"),
        QRegularExpression("\\b(Headroom|AutoencoderKL|PyTorch|LibTorch|Winograd|Kineto|Chrome|Python|NumPy|"
                           "English|RMS)\\b"),
        QRegularExpression("\\b(fp32|bf16|fp16|avx\\d+|auto|diffusers|torch|torchrun|cuda|cpu|silu|pickle|"
                           "version|latent|json|batch|threads|upsampled|winograd)\\b"),
        QRegularExpression("\\b(forward|interpolate|group_norm|conv|sum)\\b"),
        QRegularExpression("Intel\\(R\\) [\\w() -]*Processor"),  // what the tour was recorded on
        QRegularExpression("\\b(two cores|small|law)\\b")};
    for (const std::string& model : built_in_models())
      list.prepend(QRegularExpression("\\b" + QRegularExpression::escape(QString::fromStdString(model))));
    return list;
  }();
  return all;
}

/// Texts with an English word that is no name. Words of capital letters alone are abbreviations and allowed.
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
  test::ShownWindow shown("zh_CN");
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
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
  // A limit that no plan fits.
  PlanningQuestion question = workspace.question();
  question.options.limit_bytes = 1 << 20;
  question.options.weights = WeightResidency::resident;
  workspace.ask(question);
  window.showPage("frontier");
  wait_until_idle(window);
  for (const QWidget* widget : window.currentPage()->findChildren<QWidget*>())
    add_widget(texts, "frontier, too little", *widget);
  CHECK(texts.size() > 200);
  for (const QString& found : english_in(texts)) FAIL_CHECK(found.toStdString());
}

}  // namespace
}  // namespace headroom::gui
