#include "gui/view/lower_peak_box.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStorageInfo>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <string_view>

#include "decoder/base/errors.h"
#include "gui/model/figure_text.h"
#include "gui/model/groundwork.h"
#include "gui/view/input_fields.h"
#include "gui/view/plain_text.h"
#include "gui/view/table_view.h"

namespace headroom::gui {

UsedPlanBar::UsedPlanBar(Workspace& workspace, QWidget* parent) : QFrame(parent), workspace_(workspace) {
  setObjectName(QStringLiteral("used-plan-bar"));
  setFrameShape(QFrame::StyledPanel);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(8, 4, 8, 4);
  auto* words = paragraph(this);
  words->setText(
      tr("This plan is in use: the pages Timeline, Plan and Run show it. It is not saved and is lost with "
         "this window. Save it to keep it, or run it."));
  auto* keep = new QPushButton(tr("Sa&ve plan…"), this);
  keep->setObjectName(QStringLiteral("save-used-plan"));
  auto* run = new QPushButton(tr("R&un it"), this);
  run->setObjectName(QStringLiteral("run-used-plan"));
  make_primary(*run);
  row->addWidget(words, 1);
  row->addWidget(keep);
  row->addWidget(run);
  connect(keep, &QPushButton::clicked, this, &UsedPlanBar::askForFile);
  connect(run, &QPushButton::clicked, this, &UsedPlanBar::runAsked);
  hide();
}

void UsedPlanBar::showPlan(const reports::DocumentPtr& plan) {
  plan_ = plan != nullptr && workspace_.isUsed(*plan) ? plan : nullptr;
  setVisible(plan_ != nullptr);
}

void UsedPlanBar::save(const QString& file) {
  if (plan_ == nullptr) return;
  const reports::DocumentPtr plan = plan_;
  const PlanningQuestion question = workspace_.question();
  workspace_.save(plan, question, file);
  workspace_.close(plan);
}

void UsedPlanBar::askForFile() {
  if (plan_ == nullptr) return;
  const QString file =
      QFileDialog::getSaveFileName(this, tr("Save plan"), plan_file_name(plan_), tr("Plans (*.json)"));
  if (file.isEmpty()) return;
  try {
    save(file);
    Q_EMIT message(tr("Saved %1").arg(file));
  } catch (const std::exception& error) {
    say_failure(this, tr("Save plan"), QString::fromUtf8(error.what()));
  }
}

QString plan_file_name(const reports::DocumentPtr& plan) {
  const auto& [named, model, found] = *plan->as<reports::PlanDocument>();
  return QStringLiteral("%1-%2x%3-%4.plan.json")
      .arg(QString::fromStdString(model.name))
      .arg(named.request.width_pixels)
      .arg(named.request.height_pixels)
      .arg(bytes_text(named.limit_bytes));
}

namespace {

constexpr std::chrono::milliseconds kPlannedFor{5000};

/// Plans for the question's limit. Throws InputError if no plan fits.
reports::DocumentPtr planned_by(const PlanningQuestion& question) {
  const Groundwork ground(question, std::make_shared<FoundPlans>());
  const int64_t limit = question.options.limit_bytes;
  const reports::DocumentPtr plan =
      ground.plan(ground.search(limit, kPlannedFor), limit, {std::chrono::steady_clock::now() + kPlannedFor});
  if (plan == nullptr)
    throw InputError(LowerPeakBox::tr("No plan was found under this limit.").toStdString());
  return plan;
}

}  // namespace

LowerPeakBox::LowerPeakBox(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace) {
  setObjectName(QStringLiteral("lower-peak"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins({});
  auto* heading = new PlainLabel(tr("What would lower the peak"), this);
  QFont font = heading->font();
  font.setBold(true);
  heading->setFont(font);
  words_ = paragraph(this);
  words_->setObjectName(QStringLiteral("lower-peak-words"));
  table_ = new TableView(this);
  table_->setObjectName(QStringLiteral("lower-ways"));
  table_->hideFilter();
  table_->wrapTexts();
  table_->view()->setMinimumHeight(8 * fontMetrics().lineSpacing());
  use_ = new QPushButton(tr("Use the chosen remedy"), this);
  use_->setObjectName(QStringLiteral("use-lower"));
  left_ = paragraph(this);
  left_->setObjectName(QStringLiteral("lower-peak-left"));
  column->addWidget(heading);
  column->addWidget(words_);
  column->addWidget(table_, 1);
  column->addWidget(use_, 0, Qt::AlignLeft);
  column->addWidget(left_);
  say({});
  connect(table_, &TableView::rowChosen, this, &LowerPeakBox::choose);
  connect(use_, &QPushButton::clicked, this, [this] {
    const int row = table_->chosenRow();
    if (row >= 0 && row < std::ssize(ways_)) use(ways_[static_cast<size_t>(row)]);
  });
  connect(&job_, &Job::busyChanged, this, &LowerPeakBox::busyChanged);
}

void LowerPeakBox::showPlan(const PlanningQuestion& question, const reports::DocumentPtr& plan) {
  if (plan == plan_) return;
  question_ = question;
  plan_ = plan;
  looked_ = false;
  job_.forget();
  setEnabled(true);  // a plan that a button started is no longer awaited
  say({});
  if (isVisible()) look();
}

void LowerPeakBox::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  look();
}

void LowerPeakBox::look() {
  if (looked_ || plan_ == nullptr) return;
  looked_ = true;
  say(tr("Looking for lower peaks…"));
  job_.start(
      [question = question_, plan = plan_, patience = patience_seconds_](const Job::Turn& turn) {
        const Groundwork ground(question, std::make_shared<FoundPlans>());
        const auto in_time = planner::for_seconds(patience);
        return planner::what_would_lower(ground.problem_under(question.options.limit_bytes),
                                         plan->as<reports::PlanDocument>()->plan,
                                         [&] { return turn.goOn() && in_time(); });
      },
      [this](const planner::LowerPeak& lower) { take(lower); },
      [this](const QString& failure) { say(failure); });
}

reports::Table LowerPeakBox::tableOf() const {
  reports::Table table;
  table.columns = {
      {.title = "change",
       .is_text = true,
       .explanation = "A remedy with the lowest peak of all, or with a peak "
                      "that costs at most 5 % more time."},
      {.title = "peak", .unit = reports::Unit::bytes, .bars = true, .explanation = "The limit of the plan."},
      {.title = "time", .unit = reports::Unit::seconds, .explanation = "Predicted."},
      {.title = "cost", .is_text = true, .explanation = "Time compared with the plan on this page."}};
  const double seconds = plan_->as<reports::PlanDocument>()->plan.predicted_seconds;
  for (const planner::LowerWay& way : ways_) {
    const QString name = RemedyWords::name(way.remedy.option);
    table.rows.push_back({{(way.about_as_fast ? name : tr("%1, lowest peak").arg(name)).toStdString(),
                           double(way.plan.peak_bytes), way.plan.seconds,
                           RemedyWords::speed(way.plan.seconds, seconds).toStdString()},
                          false});
  }
  return table;
}

void LowerPeakBox::choose(int row) {
  const bool any = row >= 0 && row < std::ssize(ways_);
  use_->setEnabled(any);
  const std::string option = any ? ways_[static_cast<size_t>(row)].remedy.option : "";
  use_->setToolTip(option.empty()
                       ? QString()
                       : tr("headroom-plan has the option %1 for this").arg(QString::fromStdString(option)));
}

void LowerPeakBox::take(const planner::LowerPeak& lower) {
  std::vector<planner::LowerWay> ways = planner::lower_ways(lower);
  if (ways.empty()) {
    return say(lower.not_looked_at.empty()
                   ? tr("No known change: this is the lowest peak.")
                   : tr("A short search found nothing. Drag the limit on the page Frontier."));
  }
  say({});
  ways_ = std::move(ways);
  table_->setTable(tableOf());
  table_->show();
  use_->show();
  table_->chooseRow(0);
  QStringList left;
  for (const std::string& option : lower.not_looked_at) left << RemedyWords::name(option);
  for (const std::string& option : lower.not_looked_at_as_fast)
    left << tr("%1, in at most 5 % more time").arg(RemedyWords::name(option));
  left_->setText(tr("Not looked at, for lack of time: %1.").arg(left.join(tr("; "))));
  left_->setVisible(!left.isEmpty());
}

void LowerPeakBox::use(const planner::LowerWay& way) {
  PlanningQuestion question = question_;
  if (!way.remedy.option.empty()) {
    planner::Remedy remedy = way.remedy;
    remedy.needs_bytes = way.plan.needs_bytes;
    const auto changed = with_remedy(question, remedy, this);
    if (!changed) return;
    question = *changed;
  }
  question.options.limit_bytes = way.plan.peak_bytes;
  setEnabled(false);
  job_.start([question](const Job::Turn&) { return planned_by(question); },
             [this, question](const reports::DocumentPtr& plan) {
               setEnabled(true);
               try {  // writing the plan's file may fail
                 workspace_.use(plan, question, plan_file_name(plan));
               } catch (const std::exception& error) {
                 return say(QString::fromUtf8(error.what()));
               }
               Q_EMIT used();
             },
             [this](const QString& failure) {
               setEnabled(true);
               say(failure);
             });
}

/// Shows words in place of the table. Empty: shows neither.
void LowerPeakBox::say(const QString& words) {
  ways_.clear();
  table_->setTable({});
  for (QWidget* widget :
       {static_cast<QWidget*>(table_), static_cast<QWidget*>(use_), static_cast<QWidget*>(left_)})
    widget->hide();
  words_->setText(words);
  words_->setVisible(!words.isEmpty());
}

namespace {

constexpr int64_t kWholeMebibyte = int64_t{1} << 20;
constexpr std::string_view kDtype = "--dtype ";

}  // namespace

QString RemedyWords::name(const std::string& option) {
  if (option.empty()) return tr("A smaller limit alone");
  if (option.starts_with("--weights-residency")) return tr("Load weights pass by pass");
  if (option.starts_with("--scratch")) return tr("Keep tensors in a scratch file…");
  if (option.starts_with("--host-limit")) return tr("Allow more host memory");
  if (option.starts_with(kDtype))
    return tr("Store kept tensors in %1").arg(QString::fromStdString(option.substr(kDtype.size())));
  return QString::fromStdString(option);
}

QString RemedyWords::needs(const planner::Remedy& remedy) {
  if (!remedy.needs_bytes) return {};
  return (remedy.option.starts_with("--host-limit") ? tr("takes %1 in host memory")
                                                    : tr("takes %1 in the scratch file"))
      .arg(figure_text(reports::Unit::bytes, double(*remedy.needs_bytes)));
}

QString RemedyWords::speed(double seconds, double than_seconds) {
  constexpr double kSame = 0.005;
  const double more = than_seconds > 0 ? seconds / than_seconds - 1 : 0;
  if (std::abs(more) < kSame) return tr("as fast");
  const QString share = figure_text(reports::Unit::share, std::abs(more));
  return (more < 0 ? tr("%1 faster") : tr("%1 slower")).arg(share);
}

std::optional<PlanningQuestion> with_remedy(PlanningQuestion question, const planner::Remedy& remedy,
                                            QWidget* parent) {
  planner::PlanOptions& options = question.options;
  if (remedy.option.starts_with("--weights-residency")) {
    options.weights.reset();
  } else if (remedy.option.starts_with("--scratch")) {
    if (options.scratch_folder.empty()) {
      const QString folder =
          QFileDialog::getExistingDirectory(parent, RemedyWords::tr("Folder for a scratch file"));
      if (folder.isEmpty()) return std::nullopt;
      options.scratch_folder = folder.toStdString();
    }
    options.scratch_limit_bytes =
        QStorageInfo(QString::fromStdString(options.scratch_folder)).bytesAvailable();
  } else if (remedy.option.starts_with("--host-limit")) {
    const int64_t needed = std::max(remedy.needs_bytes.value_or(0), options.host_limit_bytes);
    options.host_limit_bytes = (needed + kWholeMebibyte - 1) / kWholeMebibyte * kWholeMebibyte;
  } else if (remedy.option.starts_with(kDtype)) {
    question.request.dtype = parse_dtype(remedy.option.substr(kDtype.size()));
    question.request.tf32 = {};
  }
  return question;
}

}  // namespace headroom::gui
