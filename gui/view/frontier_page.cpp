#include "gui/view/frontier_page.h"

#include <QFileDialog>
#include <QLineEdit>
#include <QScrollArea>
#include <QSplitter>
#include <QStyle>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <tuple>
#include <utility>

#include "gui/model/figure_text.h"
#include "gui/model/groundwork.h"
#include "gui/view/answer_panel.h"
#include "gui/view/chart_view.h"
#include "gui/view/input_fields.h"
#include "gui/view/lower_peak_box.h"
#include "gui/view/plain_text.h"
#include "gui/view/request_form.h"
#include "gui/view/scaling_view.h"
#include "gui/view/table_view.h"
#include "reports/figures/passes.h"

namespace headroom::gui {
namespace {

constexpr int kPoints = 32;
/// Accepted slowdown in exchange for less memory, unless the user chose a limit.
constexpr double kSlower = 1.1;
/// A limit farther away than this factor does not widen the chart.
constexpr double kFarOff = 4;

/// The plan as a point of the frontier.
planner::FrontierPoint point_of(const Plan& plan) {
  planner::FrontierPoint point;
  point.peak_bytes = plan.predicted_peak_bytes;
  point.seconds = plan.predicted_seconds;
  point.configuration.weights = plan.weights;
  point.configuration.micro_batch = plan.micro_batch;
  for (const KeptTensor& tensor : plan.kept) {
    if (tensor.tier != MemoryTier::device) point.configuration.lower_tier = tensor.tier;
  }
  return point;
}

/// Adds a point and removes points that it dominates. Returns the points unchanged if another point dominates
/// it.
std::vector<planner::FrontierPoint> with_point(std::vector<planner::FrontierPoint> points,
                                               const planner::FrontierPoint& point) {
  const auto beats = [](const planner::FrontierPoint& a, const planner::FrontierPoint& b) {
    return a.peak_bytes <= b.peak_bytes && a.seconds <= b.seconds;
  };
  for (const planner::FrontierPoint& other : points) {
    if (beats(other, point)) return points;
  }
  std::erase_if(points, [&](const planner::FrontierPoint& other) { return beats(point, other); });
  const auto after = std::find_if(points.begin(), points.end(), [&](const planner::FrontierPoint& other) {
    return other.peak_bytes < point.peak_bytes;
  });
  points.insert(after, point);
  return points;
}

/// True if both decode the same pictures with the same model. Dtype and device may differ.
bool same_picture(const Request& a, const Request& b) {
  const auto picture = [](const Request& request) {
    return std::tie(request.model, request.width_pixels, request.height_pixels, request.frames, request.batch,
                    request.direction);
  };
  return picture(a) == picture(b);
}

/// The costs behind a plan's times.
QString costs_words(const Plan& plan) {
  if (plan.learnt.decodes > 0) {
    return FrontierPage::tr("costs learnt from decodes here, %1 those %2")
        .arg(figure_text(reports::Unit::ratio, plan.learnt.ratio),
             RequestForm::assumedFor(device_record(plan.request.device)));
  }
  return plan.assumed
             ? FrontierPage::tr("costs %1").arg(RequestForm::assumedFor(device_record(plan.request.device)))
             : FrontierPage::tr("a profile");
}

/// Adds a file's frontier to the chart for comparison.
void add_frontier(reports::Chart& chart, const reports::Document& file) {
  reports::Series series{
      file.file.filename().string(), reports::Mark::steps, reports::ColourRole::other, {}, {}};
  const std::vector<planner::FrontierPoint>& points = file.as<reports::FrontierDocument>()->points;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    series.x.push_back(double(point->peak_bytes));
    series.y.push_back(point->seconds);
  }
  chart.series.push_back(std::move(series));
}

}  // namespace

FrontierPage::FrontierPage(Workspace& workspace, QWidget* parent) : Page(parent), workspace_(workspace) {
  auto* columns = new QSplitter(Qt::Horizontal, this);
  columns->setObjectName("frontier");
  columns->setChildrenCollapsible(false);
  auto* form = new QScrollArea(columns);
  auto* request = new RequestForm(workspace, form);
  form->setWidget(request);
  form->setWidgetResizable(true);
  form->setFrameShape(QFrame::NoFrame);
  form->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  form->setMinimumWidth(form->widget()->minimumSizeHint().width() +
                        style()->pixelMetric(QStyle::PM_ScrollBarExtent));
  QWidget* middle = buildMiddle();
  columns->addWidget(middle);
  panel_ = new AnswerPanel(workspace, columns);
  panel_->showWords(tr("Planning…"));
  columns->setStretchFactor(0, 0);
  columns->setStretchFactor(1, 3);
  columns->setStretchFactor(2, 2);
  columns->setSizes({form->minimumWidth(), 500, 440});
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(columns);

  // Disabled while a field has an error, because the shown plans belong to the last valid question.
  connect(request, &RequestForm::validated, middle, &QWidget::setEnabled);
  connect(request, &RequestForm::validated, panel_, &QWidget::setEnabled);
  connect(panel_, &AnswerPanel::useAsked, this, &FrontierPage::usePlan);
  connect(&panel_->lower(), &LowerPeakBox::used, this, [this] { Q_EMIT pageAsked(QStringLiteral("plan")); });
  connect(&panel_->lower(), &LowerPeakBox::busyChanged, this, &Page::busyChanged);
  connect(panel_, &AnswerPanel::saveAsked, this, &FrontierPage::askForFile);
  connect(&workspace_, &Workspace::questionChanged, this, &FrontierPage::plan);
  connect(&workspace_, &Workspace::documentsChanged, this, &FrontierPage::draw);
  connect(&replanner_, &Replanner::answered, this, &FrontierPage::take);
  connect(&replanner_, &Replanner::frontierFound, this, &FrontierPage::takeFrontier);
  connect(&replanner_, &Replanner::busyChanged, this, &Page::busyChanged);
}

QWidget* FrontierPage::buildMiddle() {
  auto* middle = new QWidget(this);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins({});
  limit_ = new LimitField(workspace_, middle);
  example_ = paragraph(middle);
  example_->setObjectName("example");
  example_->setText(tr("This is an example. Choose your own model, size and device at the left."));
  show_as_warning(*example_, true);
  costs_ = warning(middle);
  costs_->setObjectName("costs");
  column->addWidget(example_);
  column->addWidget(costs_);
  column->addWidget(limit_);
  auto* tabs = new QTabWidget(middle);
  tabs->setObjectName("views");
  tabs->setDocumentMode(true);
  auto* halves = new QSplitter(Qt::Vertical, tabs);
  halves->setObjectName("frontier-halves");
  chart_ = new ChartView(halves);
  chart_->setObjectName("frontier-chart");
  chart_->setAccessibleName(tr("Peak against time"));
  table_ = new TableView(halves);
  table_->setObjectName("frontier-points");
  table_->hideFilter();
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 1);
  tabs->addTab(halves, tr("Peak against time"));
  scaling_ = new ScalingView(workspace_, tabs);
  scaling_->setObjectName("scaling");
  tabs->addTab(scaling_, tr("Peak against size"));
  column->addWidget(tabs, 1);
  connect(scaling_, &ScalingView::limitDragged, limit_, &LimitField::drag);
  connect(scaling_, &ScalingView::busyChanged, this, &Page::busyChanged);
  connect(chart_, &ChartView::handleMoved, limit_, &LimitField::drag);
  connect(chart_, &ChartView::handleReleased, limit_, &LimitField::drag);
  connect(table_, &TableView::rowChosen, this, [this](int row) {
    if (row >= 0 && static_cast<size_t>(row) < points_.size())
      limit_->setLimit(points_[static_cast<size_t>(row)].peak_bytes);
  });
  return middle;
}

void FrontierPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  plan();
}

/// Asks again if the question has changed and the page is visible.
void FrontierPage::plan() {
  const PlanningQuestion& question = workspace_.question();
  example_->setVisible(question.by_default && workspace_.chosen<reports::FrontierDocument>() == nullptr &&
                       workspace_.chosen<RecordedTrace>() == nullptr &&
                       workspace_.chosen<profiler::Profile>() == nullptr);
  if (!isVisible() || question.request.width_pixels <= 0) return;
  const bool other = !asked_ || !same_but_limit(question, *asked_);
  if (!other && question.options.limit_bytes == asked_->options.limit_bytes) return;
  asked_ = question;
  if (other) {
    untiled_ = {};
    showPoints({});
  }
  if (question.options.limit_bytes > 0) replanner_.ask(question);
  if (other) replanner_.askFrontier(question, kPoints);
  draw();
}

void FrontierPage::take(const Answer& answer) {
  answer_ = answer;
  panel_->showAnswer(answer);
  showPoints(found_);
  draw();
}

void FrontierPage::takeFrontier(const FoundFrontier& found) {
  if (!found.failure.isEmpty()) {
    answer_ = {};
    return panel_->showWords(found.failure);
  }
  untiled_ = found.untiled;
  showPoints(found.points);
  draw();
  if (found.complete && workspace_.question().options.limit_bytes <= 0) chooseLimit();
}

void FrontierPage::showPoints(const std::vector<planner::FrontierPoint>& points) {
  found_ = points;
  points_ = points;
  // The answer may be newer than the frontier's points.
  if (planOfQuestion() != nullptr && !points.empty())
    points_ = with_point(points, point_of(*planOfQuestion()));
  table_->setTable(reports::frontier_table(points_));
  if (!points_.empty())
    limit_->setRange(points_.back().peak_bytes * 9 / 10, points_.front().peak_bytes * 11 / 10);
}

/// Chooses the smallest limit whose plan is at most kSlower times as slow as the fastest.
void FrontierPage::chooseLimit() {
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  const auto least =
      std::find_if(points_.rbegin(), points_.rend(), [this](const planner::FrontierPoint& point) {
        return point.seconds <= kSlower * points_.front().seconds;
      });
  if (least != points_.rend()) limit_->setLimit((least->peak_bytes + kMebibyte - 1) / kMebibyte * kMebibyte);
}

const Plan* FrontierPage::planOfQuestion() const {
  if (answer_.plan == nullptr || !asked_ || !same_but_limit(answer_.question, *asked_)) return nullptr;
  return &answer_.plan->as<reports::PlanDocument>()->plan;
}

/// Marks the answer's plan in the chart, with the figures of the panel.
void FrontierPage::markAnswer(reports::Chart& chart) const {
  chart.notes.clear();
  const Plan* plan = planOfQuestion();
  if (plan == nullptr) return;
  const auto peak = double(plan->predicted_peak_bytes);
  chart.notes.push_back({peak, plan->predicted_seconds,
                         reports::format(reports::Unit::seconds, plan->predicted_seconds) + ", " +
                             reports::format(reports::Unit::bytes, peak)});
}

/// Marks the peak of the untiled decode. The line of the fastest plans goes on to it.
void FrontierPage::markUntiled(reports::Chart& chart) const {
  if (untiled_.bytes <= 0) return;
  const auto peak = double(untiled_.bytes);
  const QString bytes = figure_text(reports::Unit::bytes, peak);
  chart.guides.push_back(
      {(untiled_.by_diffusers ? tr("untiled %1") : tr("untiled, about %1")).arg(bytes).toStdString(), peak,
       true, reports::ColourRole::untiled});
  constexpr double kRightMargin = 1.1;
  for (reports::Series& series : chart.series) {
    if (series.mark != reports::Mark::steps || series.x.empty() || series.x.back() >= kRightMargin * peak)
      continue;
    series.x.push_back(kRightMargin * peak);
    series.y.push_back(series.y.back());
  }
}

/// True if a file's frontier is of the question's picture. Without the model of a file, its request is not
/// known. Then it is drawn.
bool FrontierPage::isDrawn(const reports::DocumentPtr& file) const {
  return file != nullptr && (!file_request_ || same_picture(*file_request_, workspace_.question().request));
}

/// Says which files of this decode have times by other costs than this page. Empty if there are none.
QString FrontierPage::otherCosts() const {
  const Plan* here = planOfQuestion();
  if (here == nullptr) return {};
  QStringList sentences{tr("Times differ by their costs. This page: %1.").arg(costs_words(*here))};
  const reports::DocumentPtr document = workspace_.chosen<reports::PlanDocument>();
  if (document != nullptr && !workspace_.isUsed(*document)) {
    const auto& open = *document->as<reports::PlanDocument>();
    const QString costs = costs_words(open.plan);
    if (same_picture(workspace_.questionInFile(open).request, asked_->request) && costs != costs_words(*here))
      sentences << tr("%1: %2 by %3.")
                       .arg(Workspace::titleOf(*document),
                            figure_text(reports::Unit::seconds, open.plan.predicted_seconds), costs);
  }
  // A frontier's file does not say if its costs were learnt.
  if (isDrawn(file_) &&
      (here->learnt.decodes > 0 || file_->as<reports::FrontierDocument>()->assumed != here->assumed))
    sentences << tr("%1: by the costs when it was made.").arg(Workspace::titleOf(*file_));
  return sentences.size() > 1 ? sentences.join(QLatin1Char(' ')) : QString();
}

void FrontierPage::draw() {
  const int64_t limit = workspace_.question().options.limit_bytes;
  reports::Chart chart = reports::frontier_chart(points_, limit);
  chart.guides.clear();  // the handle replaces the limit's guide
  markAnswer(chart);
  if (!points_.empty()) {
    // Leaves room for the handle on both sides: limits under which nothing fits, and limits beyond which time
    // stays the same.
    const auto smallest = double(points_.back().peak_bytes), ample = double(points_.front().peak_bytes);
    const double near = limit > 0 ? std::max(0.9 * double(limit), smallest / kFarOff) : smallest,
                 far = std::min(1.1 * double(limit), ample * kFarOff), left = std::min(0.6 * smallest, near);
    // Charts shade every second span.
    chart.spans = {{left, left, ""}, {left, smallest, tr("nothing fits").toStdString()}};
    for (reports::Series& series : chart.series) {
      if (series.mark != reports::Mark::steps) continue;
      series.x.push_back(std::max(1.25 * ample, far));
      series.y.push_back(points_.front().seconds);
    }
  }
  markUntiled(chart);
  if (const Plan* plan = planOfQuestion()) panel_->showUntiled(untiled_, plan->predicted_peak_bytes);
  const reports::DocumentPtr file = workspace_.chosen<reports::FrontierDocument>();
  if (file != file_) file_request_ = file == nullptr ? std::nullopt : request_of(*file);
  file_ = file;
  if (isDrawn(file)) add_frontier(chart, *file);
  costs_->setText(otherCosts());
  costs_->setVisible(!costs_->text().isEmpty());
  const bool zoomed = !points_.empty() && chart_->visibleRange() != whole_range_;
  chart_->setChart(chart, zoomed);
  if (!zoomed) whole_range_ = chart_->visibleRange();
  if (limit > 0) {
    chart_->setHandle(double(limit), true,
                      tr("limit %1").arg(figure_text(reports::Unit::bytes, double(limit))));
  } else {
    chart_->clearHandle();
  }
}

void FrontierPage::savePlan(const QString& file) {
  if (answer_.plan != nullptr) workspace_.save(answer_.plan, answer_.question, file);
}

template <typename Write>
void FrontierPage::attempt(const Write& write) {
  try {
    write();
  } catch (const std::exception& error) {
    say_failure(this, tr("Save plan"), QString::fromUtf8(error.what()));
  }
}

void FrontierPage::usePlan() {
  if (answer_.plan == nullptr) return;
  attempt([&] {
    workspace_.use(answer_.plan, answer_.question, plan_file_name(answer_.plan));
    Q_EMIT pageAsked(QStringLiteral("plan"));  // that page offers the next steps
  });
}

void FrontierPage::askForFile() {
  if (answer_.plan == nullptr) return;
  const QString file =
      QFileDialog::getSaveFileName(this, tr("Save plan"), plan_file_name(answer_.plan), tr("Plans (*.json)"));
  if (file.isEmpty()) return;
  attempt([&] {
    savePlan(file);
    Q_EMIT message(tr("Saved %1").arg(file));
  });
}

bool FrontierPage::busy() const {
  return replanner_.busy() || panel_->lower().busy() || scaling_->busy();
}

std::vector<Export> FrontierPage::exports() {
  return {painting_of(*chart_, "frontier"), table_->exporter("frontier-points"),
          panel_->live().exporter("peak"), painting_of(*scaling_, "scaling")};
}

}  // namespace headroom::gui
