#include "gui/view/timeline_page.h"

#include <qcustomplot.h>

#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "gui/view/beside_box.h"
#include "gui/view/chart_view.h"
#include "gui/view/empty_page.h"
#include "gui/view/memory_map_box.h"
#include "gui/view/plain_text.h"
#include "gui/view/table_view.h"
#include "gui/view/timeline_side.h"
#include "reports/figures/document.h"
#include "reports/figures/peak.h"

namespace headroom::gui {
namespace {

constexpr int kFollowMilliseconds = 15;

}  // namespace

TimelinePage::TimelinePage(Workspace& workspace, QWidget* parent)
    : Page(parent), workspace_(workspace), stack_(new QStackedWidget(this)) {
  sides_[0] = std::make_unique<TimelineSide>(QStringLiteral("predicted"));
  sides_[1] = std::make_unique<TimelineSide>(QStringLiteral("measured"));

  QWidget* nothing = empty_page(
      *this,
      tr("This page shows device memory over time: predicted by a plan, measured by the trace of a run, or "
         "one above the other. No plan and no trace is open. The page Run records a trace, and so does "
         "headroom-decode --trace trace.json."),
      {{tr("&Plan a decode"), QStringLiteral("frontier")}, {tr("&Run a decode"), QStringLiteral("run")}});

  auto* views = new QTabWidget(stack_);
  views->setObjectName(QStringLiteral("views"));
  views->setDocumentMode(true);
  views->setCornerWidget(new BesideBox(workspace_, /*traces=*/true, views));
  map_ = new MemoryMapBox(views);
  map_->setObjectName(QStringLiteral("memory"));
  views->addTab(buildByKind(), tr("Memory by kind"));
  views->addTab(map_, tr("Memory map"));
  connect(map_, &MemoryMapBox::busyChanged, this, &Page::busyChanged);
  connect(map_, &MemoryMapBox::message, this, &Page::message);
  stack_->addWidget(nothing);
  stack_->addWidget(views);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(stack_);

  follow_.setSingleShot(true);
  follow_.setInterval(kFollowMilliseconds);
  connect(&follow_, &QTimer::timeout, this, &TimelinePage::lookAtCursor);
  connect(&workspace_, &Workspace::documentsChanged, this, &TimelinePage::showDocuments);
  connectSides();
  showDocuments();
}

TimelinePage::~TimelinePage() = default;

QWidget* TimelinePage::buildByKind() {
  auto* charts = new QSplitter(Qt::Vertical);
  charts->setObjectName(QStringLiteral("charts"));
  auto* live = new QSplitter(Qt::Horizontal);
  live->setObjectName(QStringLiteral("live"));
  auto* all = new QSplitter(Qt::Vertical);
  all->setObjectName(QStringLiteral("timeline"));
  for (QSplitter* splitter : {charts, live, all}) splitter->setChildrenCollapsible(false);
  for (const auto& side : sides_) {
    charts->addWidget(side->chart());
    live->addWidget(side->liveBox());
  }

  auto* below = new QWidget;
  auto* peak = new QPushButton(tr("&Go to the peak"), below);
  peak->setObjectName(QStringLiteral("go-to-peak"));
  auto* hint =
      new PlainLabel(tr("A click on a chart holds the cursor, another lets it go. Wheel: zoom, drag: "
                        "pan, double click: all. Shift and drag: a range for the tables."),
                     below);
  hint->setWordWrap(true);
  auto* lower = new QPushButton(tr("What would &lower it"), below);
  lower->setObjectName(QStringLiteral("lower-it"));
  lower->setToolTip(tr("Shows, on the page Plan, which plans have a lower peak and what they take."));
  connect(peak, &QPushButton::clicked, this, &TimelinePage::goToPeak);
  connect(lower, &QPushButton::clicked, this, &TimelinePage::lowerAsked);
  auto* bar = new QHBoxLayout;
  bar->addWidget(peak);
  bar->addWidget(lower);
  bar->addWidget(hint, 1);
  note_ = new PlainLabel(below);
  note_->setObjectName(QStringLiteral("note"));
  note_->setWordWrap(true);
  note_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  note_->hide();
  auto* column = new QVBoxLayout(below);
  column->setContentsMargins(0, 0, 0, 0);
  column->addLayout(bar);
  column->addWidget(note_);
  column->addWidget(live, 1);
  all->addWidget(underWarning(charts));
  all->addWidget(below);
  all->setStretchFactor(0, 3);
  all->setStretchFactor(1, 1);
  all->setSizes({580, 250});
  return all;
}

void TimelinePage::connectSides() {
  for (size_t i = 0; i < sides_.size(); ++i) {
    TimelineSide& side = *sides_[i];
    connect(&side, &TimelineSide::arrived, this, &TimelinePage::timelineArrived);
    connect(&side, &TimelineSide::failed, this, &Page::message);
    connect(&side, &TimelineSide::busyChanged, this, &Page::busyChanged);
    connect(side.chart(), &ChartView::cursorMoved, this, [this, i](double x) { cursorMoved(i, x); });
    connect(side.chart(), &ChartView::selectionChanged, this,
            [this, i] { select(i, sides_[i]->chart()->selection()); });
    connect(side.chart(), &ChartView::pinnedChanged, this,
            [this, i](bool pinned) { sides_[1 - i]->chart()->setPinned(pinned); });
    connect(side.chart(), &ChartView::rangeChanged, this,
            [this, i](double begin, double end) { linkRanges(i, begin, end); });
  }
}

/// Places the charts below the warning about different decodes.
QWidget* TimelinePage::underWarning(QWidget* charts) {
  auto* all = new QWidget;
  apart_ = warning(all);
  apart_->setObjectName(QStringLiteral("apart"));
  auto* column = new QVBoxLayout(all);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(apart_);
  column->addWidget(charts, 1);
  return all;
}

bool TimelinePage::busy() const {
  return sides_[0]->busy() || sides_[1]->busy() || map_->busy();
}

void TimelinePage::showDocuments() {
  const reports::DocumentPtr plan = workspace_.chosen<reports::PlanDocument>(),
                             trace = workspace_.chosen<RecordedTrace>();
  const reports::DocumentPtr& beside = workspace_.beside();
  stack_->setCurrentIndex(plan == nullptr && trace == nullptr ? 0 : 1);
  std::vector<reports::DocumentPtr> shown{plan, trace};
  if (beside != nullptr) shown = {beside->as<RecordedTrace>() != nullptr ? trace : plan, beside};
  sides_[0]->show(shown[0], beside != nullptr ? QString() : tr("Predicted"));
  sides_[1]->show(shown[1], beside != nullptr ? QString() : tr("Measured"));
  map_->setTrace(trace);
  sayNotes();
}

void TimelinePage::sayNotes() {
  note_->setText(QStringList{besideStatistics(), sides_[1]->note()}.join(QLatin1Char(' ')).trimmed());
  note_->setVisible(!note_->text().isEmpty());
}

void TimelinePage::timelineArrived() {
  linking_ = true;  // both charts show their full range
  double end = 0;
  std::vector<ChartView*> charts;
  for (const auto& side : sides_) {
    if (side->timeline() == nullptr) continue;
    end = std::max(end, side->timeline()->end_seconds());
    charts.push_back(side->chart());
  }
  for (const auto& side : sides_) side->draw(end);
  to_one_height(charts);
  linking_ = false;
  sayNotes();
  sayWhatIsApart();
  goToPeak();
}

/// Why the statistics of a run of the shown plan have another peak or time than the trace. Empty if they
/// agree.
QString TimelinePage::besideStatistics() const {
  const reports::DocumentPtr &plan = sides_[0]->document(), &trace = sides_[1]->document();
  const auto* planned = plan == nullptr ? nullptr : plan->as<reports::PlanDocument>();
  const auto* recorded = trace == nullptr ? nullptr : trace->as<RecordedTrace>();
  if (planned == nullptr || recorded == nullptr || sides_[1]->timeline() == nullptr) return {};
  if (!reports::of_one_decode(reports::identity_of(*planned), reports::identity_of(*recorded))) return {};
  const reports::DocumentPtr run = run_of_plan(workspace_, plan);
  if (run == nullptr || !run->as<RunStats>()->ranks.empty()) return {};
  return QString::fromStdString(reports::trace_beside_stats(
      recorded->trace, *sides_[1]->timeline(), *run->as<RunStats>(), run->file.filename().string()));
}

void TimelinePage::sayWhatIsApart() {
  const reports::DocumentPtr &upper = sides_[0]->document(), &lower = sides_[1]->document();
  apart_->hide();
  const auto* plan = upper == nullptr ? nullptr : upper->as<reports::PlanDocument>();
  const auto* trace = lower == nullptr ? nullptr : lower->as<RecordedTrace>();
  if (plan == nullptr || trace == nullptr) return;
  const reports::DecodeIdentity planned = reports::identity_of(*plan), ran = reports::identity_of(*trace);
  if (reports::of_one_decode(planned, ran)) return;
  apart_->setText(tr("Two different decodes: the plan is of %1; the run is of %2. The plan did not predict "
                     "this run.")
                      .arg(QString::fromStdString(reports::text_of(planned)),
                           QString::fromStdString(reports::text_of(ran))));
  apart_->show();
}

void TimelinePage::goToPeak() {
  follow_.stop();
  select(0, {});
  select(1, {});
  double first = HUGE_VAL, last = 0, begin = 0, end = 0;
  bool in_sight = true;
  for (const auto& side : sides_) {
    if (side->timeline() == nullptr) continue;
    const double seconds = side->timeline()->seconds(side->timeline()->peak());
    side->lookAt(seconds, false);
    std::tie(begin, end) = side->chart()->visibleRange();
    in_sight = in_sight && seconds >= begin && seconds <= end;
    first = std::min(first, seconds);
    last = std::max(last, seconds);
  }
  if (in_sight) return;
  // Keeps the zoom, unless it would show only one of the peaks.
  const double half = std::max((end - begin) / 2, 0.55 * (last - first)), middle = (first + last) / 2;
  linking_ = true;
  for (const auto& side : sides_) side->chart()->setVisibleRange(middle - half, middle + half);
  linking_ = false;
}

void TimelinePage::cursorMoved(size_t from, double seconds) {
  followed_ = from;
  followed_seconds_ = seconds;
  if (!follow_.isActive()) follow_.start();
}

void TimelinePage::select(size_t from, const std::optional<std::pair<double, double>>& range) {
  TimelineSide &here = *sides_[from], &there = *sides_[1 - from];
  here.setRange(range);
  if (here.timeline() == nullptr || there.timeline() == nullptr) return;
  if (!range) return there.setRange({});
  there.setRange(std::pair(seconds_in(*there.timeline(), *here.timeline(), range->first),
                           seconds_in(*there.timeline(), *here.timeline(), range->second)));
}

void TimelinePage::lookAtCursor() {
  TimelineSide &here = *sides_[followed_], &there = *sides_[1 - followed_];
  if (here.timeline() == nullptr) return;
  here.lookAt(followed_seconds_, true);
  if (there.timeline() == nullptr) return;
  there.lookAt(seconds_in(*there.timeline(), *here.timeline(), followed_seconds_), true);
}

void TimelinePage::linkRanges(size_t from, double begin, double end) {
  TimelineSide &here = *sides_[from], &there = *sides_[1 - from];
  if (linking_ || here.timeline() == nullptr || there.timeline() == nullptr) return;
  linking_ = true;
  there.chart()->setVisibleRange(begin, end);
  linking_ = false;
}

std::vector<Export> TimelinePage::exports() {
  std::vector<Export> all;
  for (const auto& side : sides_) {
    for (Export& one : side->exports()) all.push_back(std::move(one));
  }
  for (Export& one : map_->exports()) all.push_back(std::move(one));
  return all;
}

}  // namespace headroom::gui
