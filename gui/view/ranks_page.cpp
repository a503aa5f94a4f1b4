#include "gui/view/ranks_page.h"

#include <qcustomplot.h>

#include <QComboBox>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/plain_tooltip.h"
#include "gui/view/chart_view.h"
#include "gui/view/plain_label.h"
#include "gui/view/table_view.h"

namespace headroom::gui {
namespace {

constexpr size_t kMostRanksDrawn = 16;  ///< the table has all
constexpr int kChartHeight = 170;
constexpr size_t kTitleColumns = 2;

bool is_of_ranks(const reports::DocumentPtr& document) {
  const RunStats* stats = document->as<RunStats>();
  return !reports::ranks_of(*document).empty() || (stats != nullptr && !stats->ranks.empty());
}

QString title_of(const reports::RankedRun& run) {
  QStringList names;
  for (const reports::DocumentPtr& document : {run.plan, run.stats, run.trace}) {
    if (document != nullptr) names << Workspace::titleOf(*document);
  }
  return names.join(QStringLiteral(", "));
}

}  // namespace

RanksPage::RanksPage(Workspace& workspace, QWidget* parent)
    : Page(parent), workspace_(workspace), stack_(new QStackedWidget(this)) {
  auto* nothing =
      new PlainLabel(tr("Open a plan, statistics or a trace of a decode that several ranks share to see "
                        "the ranks side by side. They are made with headroom-plan --ranks and by "
                        "headroom-decode under torchrun."),
                     this);
  nothing->setWordWrap(true);
  nothing->setAlignment(Qt::AlignCenter);
  nothing->setMargin(40);
  auto* all = new QWidget(this);
  auto* column = new QVBoxLayout(all);
  column->setContentsMargins({});
  column->addWidget(buildHead());
  auto* halves = new QSplitter(Qt::Vertical, all);
  halves->setObjectName(QStringLiteral("ranks"));
  table_ = new TableView(halves);
  table_->setObjectName(QStringLiteral("ranks"));
  table_->hideFilter();
  auto* area = new QScrollArea(halves);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  auto* charts = new QWidget(area);
  column_ = new QVBoxLayout(charts);
  column_->setContentsMargins({});
  area->setWidget(charts);
  halves->setStretchFactor(0, 1);
  halves->setStretchFactor(1, 3);
  halves->setChildrenCollapsible(false);
  halves->setSizes({200, 580});
  column->addWidget(halves, 1);
  stack_->addWidget(nothing);
  stack_->addWidget(all);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(stack_);
  connect(&workspace_, &Workspace::documentsChanged, this, &RanksPage::read);
  connect(&job_, &LatestJob::busyChanged, this, &Page::busyChanged);
  connect(runs_, &QComboBox::currentIndexChanged, this, &RanksPage::showRun);
  connect(shown_, &QComboBox::currentIndexChanged, this, &RanksPage::draw);
  read();
}

RanksPage::~RanksPage() = default;

QWidget* RanksPage::buildHead() {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins({});
  const auto box = [&](const QString& text, const char* name) {
    auto* label = new PlainLabel(text, head);
    auto* list = new QComboBox(head);
    list->setObjectName(name);
    label->setBuddy(list);
    row->addWidget(label);
    row->addWidget(list);
    return list;
  };
  runs_ = box(tr("&Decode"), "decode");
  runs_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  runs_->setMinimumContentsLength(32);
  shown_ = box(tr("&Memory over time"), "shown");
  shown_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  words_ = new PlainLabel(head);
  words_->setObjectName(QStringLiteral("words"));
  row->addWidget(words_, 1);
  return head;
}

const reports::RankedRun* RanksPage::run() const {
  const int at = runs_->currentIndex();
  return at < 0 || at >= std::ssize(found_) ? nullptr : &found_[static_cast<size_t>(at)];
}

/// Timelines of all ranks are worked out anew only where other files are open.
void RanksPage::read() {
  std::vector<reports::DocumentPtr> documents;
  std::copy_if(workspace_.documents().begin(), workspace_.documents().end(), std::back_inserter(documents),
               is_of_ranks);
  if (documents == read_) return;
  read_ = documents;
  job_.start([documents] { return reports::ranked_runs(documents); },
             [this](const std::vector<reports::RankedRun>& runs) { take(runs); },
             [this](const QString& failure) { Q_EMIT message(failure); });
}

void RanksPage::take(const std::vector<reports::RankedRun>& runs) {
  const QString before = runs_->currentText();
  found_ = runs;
  {
    const QSignalBlocker blocker(runs_);
    runs_->clear();
    for (const reports::RankedRun& one : found_) {
      runs_->addItem(title_of(one));
      runs_->setItemData(runs_->count() - 1, plain_tooltip(QString::fromStdString(one.label())),
                         Qt::ToolTipRole);
    }
    runs_->setCurrentIndex(std::max(runs_->findText(before), found_.empty() ? -1 : 0));
  }
  stack_->setCurrentIndex(found_.empty() ? 0 : 1);
  showRun();
}

void RanksPage::showRun() {
  const QSignalBlocker blocker(shown_);
  shown_->clear();
  if (const reports::RankedRun* one = run()) {
    table_->setTable(reports::ranks_table(*one));
    if (!one->measured.empty()) shown_->addItem(tr("measured"), true);
    if (!one->predicted.empty()) shown_->addItem(tr("predicted"), false);
  }
  shown_->setEnabled(shown_->count() > 1);
  draw();
}

ChartView* RanksPage::newChart() {
  auto* chart = new ChartView;
  chart->setMinimumHeight(kChartHeight);
  column_->addWidget(chart);
  connect(chart, &ChartView::rangeChanged, this, [this, chart](double begin, double end) {
    if (linking_) return;
    linking_ = true;
    for (ChartView* other : charts_) {
      if (other != chart) other->setVisibleRange(begin, end);
    }
    linking_ = false;
  });
  connect(chart, &ChartView::cursorMoved, this, [this](double x) {
    for (ChartView* each : charts_) each->setCursor(x);
  });
  return chart;
}

void RanksPage::drawChart(size_t rank, const reports::Chart& chart, double end) {
  const bool measured = shown_->currentData().toBool();
  const auto timeline = (measured ? run()->measured : run()->predicted)[rank];
  charts_[rank]->setSource(0, end, [timeline, title = chart.title](double from, double to, size_t columns) {
    reports::Chart drawn = timeline_chart(*timeline, title, from, to, columns);
    drawn.x.title.clear();  // "12 s" says it, and height is dear
    drawn.y.title.clear();
    return drawn;
  });
}

void RanksPage::draw() {
  const reports::RankedRun* one = run();
  std::vector<reports::Chart> drawn;
  double end = 0;
  if (one != nullptr && shown_->count() > 0) {
    const bool measured = shown_->currentData().toBool();
    drawn = reports::rank_charts(*one, measured, kMostRanksDrawn, kTitleColumns);
    for (const auto& timeline : measured ? one->measured : one->predicted)
      end = std::max(end, timeline->end_seconds());
  }
  while (charts_.size() > drawn.size()) {
    charts_.back()->deleteLater();
    charts_.pop_back();
  }
  while (charts_.size() < drawn.size()) charts_.push_back(newChart());
  linking_ = true;
  for (size_t rank = 0; rank < drawn.size(); ++rank) drawChart(rank, drawn[rank], end);
  to_one_height(charts_);
  linking_ = false;
  const bool some = one != nullptr && !drawn.empty() && one->ranks() > drawn.size();
  words_->setText(some ? tr("The first %1 of %2 ranks are drawn.").arg(drawn.size()).arg(one->ranks())
                       : QString());
}

std::vector<Export> RanksPage::exports() {
  if (found_.empty()) return {};
  std::vector<Export> list{table_->exporter(QStringLiteral("ranks"))};
  for (size_t rank = 0; rank < charts_.size(); ++rank)
    list.push_back(charts_[rank]->exporter(tr("rank %1").arg(rank)));
  return list;
}

}  // namespace headroom::gui
