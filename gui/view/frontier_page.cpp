#include "gui/view/frontier_page.h"

#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QScrollArea>
#include <QSplitter>
#include <QStyle>
#include <QTemporaryDir>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "decoder/plan/plan_file.h"
#include "gui/model/figure_text.h"
#include "gui/model/groundwork.h"
#include "gui/view/answer_panel.h"
#include "gui/view/chart_view.h"
#include "gui/view/limit_field.h"
#include "gui/view/request_form.h"
#include "gui/view/table_view.h"
#include "reports/figures/passes.h"

namespace headroom::gui {
namespace {

constexpr int kPoints = 32;
/// How much slower than the fastest plan one may be for which less memory is asked, where nothing else was
/// said.
constexpr double kSlower = 1.1;
/// A chart is not drawn so wide that a limit far off is on it.
constexpr double kFarOff = 4;

/// Where the plan that is used has its file. It belongs to the workspace: pages may be made anew.
class UsedPlan : public QObject {
 public:
  explicit UsedPlan(QObject* parent) : QObject(parent) { setObjectName("used-plan"); }
  static UsedPlan& of(Workspace& workspace) {
    QObject* known = workspace.findChild<QObject*>("used-plan", Qt::FindDirectChildrenOnly);
    return known == nullptr ? *new UsedPlan(&workspace) : *static_cast<UsedPlan*>(known);
  }
  QTemporaryDir folder;
};

/// The frontier of a file, beside the one that is found here.
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
  form->setWidget(new RequestForm(workspace, form));
  form->setWidgetResizable(true);
  form->setFrameShape(QFrame::NoFrame);
  form->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  form->setMinimumWidth(form->widget()->minimumSizeHint().width() +
                        style()->pixelMetric(QStyle::PM_ScrollBarExtent));
  columns->addWidget(buildMiddle());
  panel_ = new AnswerPanel(workspace, columns);
  panel_->showWords(tr("Planning…"));
  columns->setStretchFactor(0, 0);
  columns->setStretchFactor(1, 3);
  columns->setStretchFactor(2, 2);
  columns->setSizes({form->minimumWidth(), 580, 360});
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(columns);

  connect(panel_, &AnswerPanel::useAsked, this, &FrontierPage::usePlan);
  connect(panel_, &AnswerPanel::saveAsked, this, &FrontierPage::askForFile);
  connect(&workspace_, &Workspace::questionChanged, this, &FrontierPage::plan);
  connect(&workspace_, &Workspace::documentsChanged, this, &FrontierPage::draw);
  connect(&workspace_, &Workspace::opened, this, [this](const reports::DocumentPtr& document) {
    // The file of a plan says less than the question that led to it.
    if (opening_ && document->as<reports::PlanDocument>() != nullptr)
      workspace_.ask(*std::exchange(opening_, std::nullopt));
  });
  connect(&replanner_, &Replanner::answered, this, &FrontierPage::take);
  connect(&replanner_, &Replanner::frontierFound, this, &FrontierPage::takeFrontier);
  connect(&replanner_, &Replanner::busyChanged, this, &Page::busyChanged);
}

QWidget* FrontierPage::buildMiddle() {
  auto* middle = new QWidget(this);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins({});
  limit_ = new LimitField(workspace_, middle);
  column->addWidget(limit_);
  auto* halves = new QSplitter(Qt::Vertical, middle);
  halves->setObjectName("frontier-halves");
  chart_ = new ChartView(halves);
  chart_->setAccessibleName(tr("Peak against time"));
  table_ = new TableView(halves);
  table_->setObjectName("frontier-points");
  table_->hideFilter();
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 1);
  column->addWidget(halves, 1);
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

/// Asks what has changed since it was last asked; nothing while nobody looks.
void FrontierPage::plan() {
  const PlanningQuestion& question = workspace_.question();
  if (!isVisible() || question.request.width_pixels <= 0) return;
  const bool other = !asked_ || !same_but_limit(question, *asked_);
  if (!other && question.options.limit_bytes == asked_->options.limit_bytes) return;
  asked_ = question;
  if (other) showPoints({});
  if (question.options.limit_bytes > 0) replanner_.ask(question);
  if (other) replanner_.askFrontier(question, kPoints);
  draw();
}

void FrontierPage::take(const Answer& answer) {
  answer_ = answer;
  panel_->showAnswer(answer);
}

void FrontierPage::takeFrontier(const FoundFrontier& found) {
  if (!found.failure.isEmpty()) {
    answer_ = {};
    return panel_->showWords(found.failure);
  }
  showPoints(found.points);
  draw();
  if (found.complete && workspace_.question().options.limit_bytes <= 0) chooseLimit();
}

void FrontierPage::showPoints(const std::vector<planner::FrontierPoint>& points) {
  points_ = points;
  table_->setTable(reports::frontier_table(points_));
  if (!points_.empty())
    limit_->setRange(points_.back().peak_bytes * 9 / 10, points_.front().peak_bytes * 11 / 10);
}

/// The least memory that costs little time.
void FrontierPage::chooseLimit() {
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  const auto least =
      std::find_if(points_.rbegin(), points_.rend(), [this](const planner::FrontierPoint& point) {
        return point.seconds <= kSlower * points_.front().seconds;
      });
  if (least != points_.rend()) limit_->setLimit((least->peak_bytes + kMebibyte - 1) / kMebibyte * kMebibyte);
}

void FrontierPage::draw() {
  const int64_t limit = workspace_.question().options.limit_bytes;
  reports::Chart chart = reports::frontier_chart(points_, limit);
  for (reports::Guide& guide : chart.guides) guide.label.clear();  // the handle has it
  if (!points_.empty()) {
    // Room for the handle on both sides: where nothing fits, and where more memory gains nothing.
    const auto smallest = double(points_.back().peak_bytes), ample = double(points_.front().peak_bytes);
    const double near = limit > 0 ? std::max(0.9 * double(limit), smallest / kFarOff) : smallest,
                 far = std::min(1.1 * double(limit), ample * kFarOff), left = std::min(0.6 * smallest, near);
    chart.spans = {{left, left, ""},
                   {left, smallest, tr("nothing fits").toStdString()}};  // every second is shaded
    for (reports::Series& series : chart.series) {
      if (series.mark != reports::Mark::steps) continue;
      series.x.push_back(std::max(1.25 * ample, far));
      series.y.push_back(points_.front().seconds);
    }
  }
  if (const reports::DocumentPtr file = workspace_.chosen<reports::FrontierDocument>())
    add_frontier(chart, *file);
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

QString FrontierPage::fileName() const {
  const auto& [plan, model] = *answer_.plan->as<reports::PlanDocument>();
  return QString("%1-%2x%3-%4.plan.json")
      .arg(QString::fromStdString(model.name))
      .arg(plan.request.width_pixels)
      .arg(plan.request.height_pixels)
      .arg(bytes_text(plan.limit_bytes));
}

void FrontierPage::savePlan(const QString& file) {
  if (answer_.plan == nullptr) return;
  const auto& [plan, model] = *answer_.plan->as<reports::PlanDocument>();
  write_plan(file.toStdString(), plan, model.graph);
  opening_ = answer_.question;
  workspace_.open({file});
}

template <typename Write>
void FrontierPage::attempt(const Write& write) {
  try {
    write();
  } catch (const std::exception& error) {
    QMessageBox::warning(this, tr("Save plan"), QString::fromStdString(error.what()));
  }
}

void FrontierPage::usePlan() {
  if (answer_.plan == nullptr) return;
  const QTemporaryDir& folder = UsedPlan::of(workspace_).folder;
  const std::vector<reports::DocumentPtr> open =
      workspace_.documents();  // closing changes the workspace's own
  for (const reports::DocumentPtr& document : open) {
    if (document->file.parent_path() == folder.path().toStdString()) workspace_.close(document);
  }
  attempt([&] {
    savePlan(folder.filePath(fileName()));
    Q_EMIT message(tr("The Plan, Timeline and Run pages show this plan; save it to keep it"));
  });
}

void FrontierPage::askForFile() {
  if (answer_.plan == nullptr) return;
  const QString file = QFileDialog::getSaveFileName(this, tr("Save plan"), fileName(), tr("Plans (*.json)"));
  if (file.isEmpty()) return;
  attempt([&] {
    savePlan(file);
    Q_EMIT message(tr("Saved %1").arg(file));
  });
}

std::vector<Export> FrontierPage::exports() {
  return {chart_->exporter("frontier"), table_->exporter("frontier-points"), panel_->live().exporter("peak")};
}

}  // namespace headroom::gui
