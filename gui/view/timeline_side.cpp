#include "gui/view/timeline_side.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/model/workspace.h"
#include "gui/view/chart_view.h"
#include "gui/view/plain_text.h"
#include "gui/view/table_view.h"
#include "reports/figures/gpu_work.h"

namespace headroom::gui {
namespace {

/// Begin and end of each pass and of the whole timeline, in seconds and ascending.
std::vector<double> landmarks(const reports::Timeline& timeline) {
  std::vector<double> places{0};
  for (const reports::Span& pass : timeline.passes()) places.insert(places.end(), {pass.begin, pass.end});
  places.push_back(timeline.end_seconds());
  // Passes may overlap by a rounding error of the clock.
  for (size_t i = 1; i < places.size(); ++i) places[i] = std::max(places[i], places[i - 1]);
  return places;
}

}  // namespace

double seconds_in(const reports::Timeline& to, const reports::Timeline& from, double seconds) {
  const bool alike = to.passes().size() == from.passes().size();
  const std::vector<double> here = alike ? landmarks(from) : std::vector{0.0, from.end_seconds()};
  const std::vector<double> there = alike ? landmarks(to) : std::vector{0.0, to.end_seconds()};
  const auto after = std::upper_bound(here.begin() + 1, here.end() - 1, seconds);
  const auto i = static_cast<size_t>(after - here.begin());
  const double length = here[i] - here[i - 1];
  const double share = length > 0 ? std::clamp((seconds - here[i - 1]) / length, 0.0, 1.0) : 0;
  return there[i - 1] + share * (there[i] - there[i - 1]);
}

TimelineSide::TimelineSide(const QString& name) : chart_(new ChartView), live_box_(new LiveBox(name)) {
  chart_->setPinnable(true);
  chart_->setSelectable(true);
  chart_->hide();
  live_box_->hide();
  connect(&job_, &Job::busyChanged, this, &TimelineSide::busyChanged);
}

TimelineSide::~TimelineSide() = default;  // their parents own the widgets

void TimelineSide::show(const reports::DocumentPtr& document, const QString& word) {
  word_ = word;
  if (document == document_) return;
  document_ = document;
  if (document == nullptr) {
    job_.forget();
    timeline_.reset();
    moment_.reset();
    range_.reset();
    note_.clear();
    chart_->setSelection({});
    chart_->hide();
    live_box_->hide();
    Q_EMIT arrived();
    return;
  }
  job_.start([document](const Job::Turn&) { return built(document); },
             [this](const Built& arrived_now) {
               timeline_ = arrived_now.timeline;
               note_ = arrived_now.note;
               gpu_ = arrived_now.gpu;
               live_box_->showGpu(gpu_);
               moment_.reset();
               range_.reset();
               chart_->setSelection({});
               chart_->setCursor({});
               chart_->setPinned(false);
               chart_->show();
               live_box_->show();
               Q_EMIT arrived();
             },
             [this](const QString& message) { Q_EMIT failed(message); });
}

TimelineSide::Built TimelineSide::built(const reports::DocumentPtr& document) {
  const RecordedTrace* recorded = document->as<RecordedTrace>();
  Built made{
      std::make_shared<const reports::Timeline>(recorded != nullptr ? reports::measured_timeline(document)
                                                                    : reports::predicted_timeline(document)),
      {},
      {}};
  if (recorded != nullptr) {
    QStringList sentences;
    for (const std::string& sentence : reports::watch_sentences(recorded->trace, *made.timeline))
      sentences << QString::fromStdString(sentence);
    for (const std::string& sentence : reports::activity_sentences(recorded->trace))
      sentences << QString::fromStdString(sentence);
    made.note = sentences.join(QLatin1Char(' '));
    made.gpu = reports::gpu_tables(*recorded);
  }
  return made;
}

QString TimelineSide::title() const {
  return word_.isEmpty() ? Workspace::titleOf(*document_) : word_;
}

TableView* TimelineSide::table() {
  return live_box_->live();
}

void TimelineSide::draw(double end_seconds) {
  if (timeline_ == nullptr) return;
  chart_->setAccessibleName(title());
  const QString file = Workspace::titleOf(*document_);
  const std::string heading = (word_.isEmpty() ? file : word_ + QStringLiteral(": ") + file).toStdString();
  chart_->setSource(0, end_seconds,
                    [timeline = timeline_, heading](double begin, double end, size_t columns) {
                      reports::Chart chart = reports::timeline_chart(*timeline, heading, begin, end, columns);
                      chart.x.title.clear();  // tick labels such as "12 s" are enough, and height is scarce
                      return chart;
                    });
}

void TimelineSide::lookAt(double seconds, bool whole_column) {
  if (timeline_ == nullptr) return;
  const size_t begin = timeline_->at(seconds);
  const size_t end = whole_column ? timeline_->at(seconds + chart_->columnWidth()) + 1 : begin + 1;
  const size_t shown = timeline_->highest(begin, std::max(end, begin + 1));
  chart_->setCursor(seconds);
  if (!range_) showMoment(shown);
}

void TimelineSide::showMoment(size_t moment) {
  if (moment_ == moment) return;
  moment_ = moment;
  live_box_->showLive(caption(), reports::live_table(*timeline_, moment));
}

void TimelineSide::setRange(std::optional<std::pair<double, double>> range) {
  if (timeline_ == nullptr || range == range_) return;
  range_ = range;
  moment_.reset();  // the caption names the range
  chart_->setSelection(range);
  const auto* recorded = document_->as<RecordedTrace>();
  if (!range) {
    if (recorded != nullptr) live_box_->showGpu(gpu_);
    return lookAt(chart_->cursor().value_or(0), true);
  }
  const size_t begin = timeline_->at(range->first);
  showMoment(timeline_->highest(begin, timeline_->at(range->second) + 1));
  if (recorded != nullptr && !gpu_.empty())
    live_box_->showGpu(reports::gpu_tables(reports::within(*recorded, range->first, range->second)));
}

QString TimelineSide::caption() const {
  if (timeline_ == nullptr || !moment_) return {};
  const double seconds = timeline_->seconds(*moment_);
  const QString memory = figure_text(reports::Unit::bytes, double(timeline_->total_bytes(*moment_)));
  // Passes are consecutive, so this is the last one that has begun.
  const auto& passes = timeline_->passes();
  const auto after = std::upper_bound(passes.begin(), passes.end(), seconds,
                                      [](double at, const reports::Span& pass) { return at < pass.begin; });
  QString at = figure_text(reports::Unit::seconds, seconds);
  if (range_) {
    at = tr("%1, the highest moment from %2 to %3")
             .arg(at, figure_text(reports::Unit::seconds, range_->first),
                  figure_text(reports::Unit::seconds, range_->second));
  }
  if (after == passes.begin()) return tr("%1, live at %2: %3").arg(title(), at, memory);
  const auto number = static_cast<int>(after - passes.begin()) - 1;
  return tr("%1, live at %2: %3, in pass %4, %5")
      .arg(title(), at, memory, QString::number(number), figure_text((after - 1)->name));
}

std::vector<Export> TimelineSide::exports() {
  if (timeline_ == nullptr) return {};
  std::vector<Export> all{painting_of(*chart_, title())};
  for (Export& one : live_box_->exports(title())) all.push_back(std::move(one));
  return all;
}

LiveBox::LiveBox(const QString& name, QWidget* parent)
    : QWidget(parent),
      caption_(new PlainLabel(this)),
      chooser_(new QComboBox(this)),
      stack_(new QStackedWidget(this)),
      live_(new TableView(stack_)),
      gpu_(new TableView(stack_)) {
  live_->setObjectName(name);
  gpu_->setObjectName(name + QStringLiteral("-gpu"));
  caption_->setWordWrap(true);
  chooser_->setAccessibleName(tr("What is shown"));
  chooser_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  stack_->addWidget(live_);
  stack_->addWidget(gpu_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  auto* row = new QHBoxLayout;  // one row saves height
  row->addWidget(caption_, 1);
  row->addWidget(chooser_);
  column->addLayout(row);
  column->addWidget(stack_, 1);
  connect(chooser_, &QComboBox::currentIndexChanged, this, &LiveBox::showChosen);
  showGpu({});
}

void LiveBox::showLive(const QString& caption, const reports::Table& live) {
  caption_->setText(caption);
  live_->setTable(live);
}

void LiveBox::showGpu(std::vector<reports::Table> tables) {
  tables_ = std::move(tables);
  const QSignalBlocker quiet(chooser_);
  const QString before = chooser_->currentText();
  chooser_->clear();
  chooser_->addItem(tr("On the device at the cursor"));
  for (const reports::Table& table : tables_) chooser_->addItem(figure_text(table.title));
  chooser_->setCurrentIndex(std::max(chooser_->findText(before), 0));
  chooser_->setVisible(!tables_.empty());
  showChosen();
}

void LiveBox::showChosen() {
  const int chosen = chooser_->currentIndex();
  stack_->setCurrentIndex(chosen > 0 ? 1 : 0);
  gpu_->setTable(chosen > 0 ? tables_[static_cast<size_t>(chosen) - 1] : reports::Table{});
}

std::vector<Export> LiveBox::exports(const QString& word) const {
  std::vector<Export> all{live_->exporter(tr("%1, live set").arg(word))};
  for (const reports::Table& table : tables_) all.push_back(csv_of(table, figure_text(table.title)));
  return all;
}

}  // namespace headroom::gui
