#include "gui/view/answer_panel.h"

#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/lower_peak_box.h"
#include "gui/view/plain_text.h"
#include "gui/view/request_form.h"
#include "gui/view/table_view.h"
#include "planner/cost/seconds_range.h"
#include "planner/explain/explain.h"

namespace headroom::gui {
namespace {

QString bytes(int64_t count) {
  return figure_text(reports::Unit::bytes, double(count));
}

/// A table of bytes, name and kind. Names are long, so bytes come first.
reports::Table holdings(const std::vector<reports::LiveEntry>& entries) {
  reports::Table table;
  table.columns = {{.title = "memory", .unit = reports::Unit::bytes, .bars = true},
                   {.title = "name", .is_text = true},
                   {.title = "kind", .is_text = true}};
  for (const reports::LiveEntry& entry : entries) {
    if (entry.bytes > 0)
      table.rows.push_back({{double(entry.bytes), entry.name, std::string(title_of(entry.kind))}});
  }
  return table;
}

/// The range that holds 90 % of decode times. Empty if the profile does not state its precision.
QString range_text(const Plan& plan) {
  if (plan.predicted_seconds_high <= 0) return {};
  return AnswerPanel::tr(" (%1 to %2)")
      .arg(figure_text(reports::Unit::seconds, plan.predicted_seconds_low),
           figure_text(reports::Unit::seconds, plan.predicted_seconds_high));
}

QString weights_text(const Plan& plan) {
  return plan.weights == WeightResidency::resident
             ? AnswerPanel::tr("%1 throughout").arg(bytes(plan.weights_bytes))
             : AnswerPanel::tr("at most %1, pass by pass").arg(bytes(plan.weights_bytes));
}

/// Remedies under a limit that nothing fits. Those that make a plan possible stand out.
reports::Table remedies_table(const planner::WhyNot& why) {
  reports::Table table;
  table.columns = {{.title = "change", .is_text = true},
                   {.title = "limit",
                    .unit = reports::Unit::bytes,
                    .explanation = "The smallest limit from yours on that has a plan with the change."},
                   {.title = "time", .unit = reports::Unit::seconds, .explanation = "Predicted."},
                   {.title = "note",
                    .is_text = true,
                    .explanation = "Other memory that the plan takes, or if the change is not enough."}};
  const auto cell = [](const auto& known) { return known ? reports::Cell(double(*known)) : reports::Cell(); };
  for (const planner::Remedy& remedy : why.remedies) {
    const bool fits = !remedy.smallest_limit_bytes;
    const QString note = fits ? RemedyWords::needs(remedy) : AnswerPanel::tr("still above your limit");
    table.rows.push_back({{RemedyWords::name(remedy.option).toStdString(),
                           double(remedy.smallest_limit_bytes.value_or(why.limit_bytes)),
                           cell(remedy.seconds), note.toStdString()},
                          fits});
  }
  return table;
}

}  // namespace

AnswerPanel::AnswerPanel(Workspace& workspace, QWidget* parent)
    : QStackedWidget(parent), workspace_(workspace) {
  addWidget(buildWords());
  addWidget(buildPlan());
  addWidget(buildWhyNot());
}

QWidget* AnswerPanel::buildWords() {
  auto* page = new QWidget(this);
  auto* column = new QVBoxLayout(page);
  words_ = paragraph(page);
  words_->setObjectName("words");
  column->addWidget(words_);
  column->addStretch();
  return page;
}

QWidget* AnswerPanel::buildPlan() {
  auto* whole = new QWidget(this);
  auto* rows = new QVBoxLayout(whole);
  rows->setContentsMargins({});
  auto* scroll = new QScrollArea(whole);  // a low window would cut texts off
  scroll->setObjectName("answer");
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* page = new QWidget(scroll);
  scroll->setWidget(page);
  rows->addWidget(scroll, 1);
  auto* column = new QVBoxLayout(page);
  facts_ = new QFormLayout;
  facts_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  column->addLayout(facts_);
  peak_ = fact(tr("Peak"), "peak", tr("The most device bytes at any moment, of every kind."));
  untiled_ = fact(tr("Untiled"), "untiled",
                  tr("The peak of the decode without tiles, and this plan's share of it."));
  time_ = fact(tr("Time"), "time", tr("Predicted time of the whole decode."));
  proof_ =
      fact(tr("Optimality"), "proof",
           tr("How much faster another plan under this limit can be at most. Optimal: no plan is faster."));
  passes_ = fact(tr("Passes"), "passes",
                 tr("Sweeps over the picture, tile by tile; each ends where all of a tensor is needed."));
  weights_ = fact(tr("Weights"), "weights-held", tr("Parameters on the device."));
  decided_ = fact(tr("Peak is at"), "decided", tr("The step that runs at the peak."));
  auto* heading = new PlainLabel(tr("On the device at the peak"), page);
  column->addWidget(heading);
  live_ = new TableView(page);
  live_->setObjectName("frontier-live");
  live_->hideFilter();
  column->addWidget(live_, 1);
  lower_ = new LowerPeakBox(workspace_, page);
  column->addWidget(lower_);
  going_on_ = paragraph(page);
  going_on_->setText(tr("Still searching for a faster one…"));
  column->addWidget(going_on_);
  auto* buttons = new QHBoxLayout;
  auto* use = new QPushButton(tr("&Use this plan"), whole);
  use->setObjectName("use-plan");
  make_primary(*use);
  use->setToolTip(tr("Shows it on the Plan, Timeline and Run pages."));
  auto* save = new QPushButton(tr("&Save plan…"), whole);
  save->setObjectName("save-plan");
  buttons->addWidget(use);
  buttons->addWidget(save);
  rows->addLayout(buttons);
  connect(use, &QPushButton::clicked, this, &AnswerPanel::useAsked);
  connect(save, &QPushButton::clicked, this, &AnswerPanel::saveAsked);
  return whole;
}

QWidget* AnswerPanel::buildWhyNot() {
  auto* page = new QWidget(this);
  auto* column = new QVBoxLayout(page);
  reason_ = paragraph(page);
  reason_->setObjectName("reason");
  column->addWidget(reason_);
  smallest_ = new QPushButton(page);
  smallest_->setObjectName("use-smallest");
  connect(smallest_, &QPushButton::clicked, this, [this] {
    PlanningQuestion question = workspace_.question();
    question.options.limit_bytes = smallest_limit_;
    workspace_.ask(question);
  });
  column->addWidget(smallest_);
  changes_ = new TableView(page);
  changes_->setObjectName("remedies");
  changes_->hideFilter();
  changes_->wrapTexts();
  use_change_ = new QPushButton(tr("Use the chosen remedy"), page);
  use_change_->setObjectName("use-remedy");
  connect(use_change_, &QPushButton::clicked, this, &AnswerPanel::useChange);
  column->addWidget(changes_, 1);
  column->addWidget(use_change_, 0, Qt::AlignLeft);
  blockers_ = new TableView(page);
  blockers_->setObjectName("frontier-blockers");
  blockers_->hideFilter();
  column->addWidget(blockers_, 2);
  return page;
}

QLabel* AnswerPanel::fact(const QString& name, const char* object, const QString& explanation) {
  QLabel* value = paragraph(this);
  value->setObjectName(object);
  value->setToolTip(explanation);
  auto* title = new PlainLabel(name, this);
  title->setToolTip(explanation);
  facts_->addRow(title, value);
  return value;
}

void AnswerPanel::showWords(const QString& words) {
  words_->setText(words);
  setCurrentIndex(0);
}

void AnswerPanel::showUntiled(const planner::UntiledPeak& untiled, int64_t planned_bytes) {
  facts_->setRowVisible(untiled_, untiled.bytes > 0);
  if (untiled.bytes <= 0) return;
  const QString share = figure_text(reports::Unit::share, double(planned_bytes) / double(untiled.bytes));
  untiled_->setText(
      (untiled.by_diffusers ? tr("%1 by diffusers, this plan takes %2") : tr("about %1, this plan takes %2"))
          .arg(bytes(untiled.bytes), share));
}

void AnswerPanel::showAnswer(const Answer& answer) {
  if (answer.plan != nullptr) return showPlan(answer);
  if (answer.why_not) return showWhyNot(*answer.why_not);
  showWords(answer.failure.isEmpty() ? tr("Searching…") : answer.failure);
}

void AnswerPanel::showPlan(const Answer& answer) {
  const Plan& plan = answer.plan->as<reports::PlanDocument>()->plan;
  peak_->setText(tr("%1 of %2").arg(bytes(plan.predicted_peak_bytes), bytes(plan.limit_bytes)));
  const QString seconds = figure_text(reports::Unit::seconds, plan.predicted_seconds);
  time_->setText(
      plan.learnt.decodes > 0 ? seconds + QLatin1Char(' ') + QString::fromStdString(planner::costs_text(plan))
      : plan.assumed
          ? tr("about %1, %2").arg(seconds, RequestForm::assumedFor(device_record(plan.request.device)))
          : tr("%1 by the profile").arg(seconds) + range_text(plan));
  proof_->setText(figure_text(planner::gap_text(plan)));
  QString passes = QString::number(plan.passes.size());
  if (plan.micro_batch < plan.request.batch)
    passes += tr(", %1 of the batch at a time").arg(plan.micro_batch);
  passes_->setText(passes);
  weights_->setText(weights_text(plan));
  const QString step = with_short_names(QString::fromStdString(answer.peak.step));
  decided_->setText(step);
  decided_->setToolTip(plain_tooltip(tr("Pass %1").arg(QString::fromStdString(answer.peak.pass_name))));
  live_->setTable(holdings(answer.peak.live));
  lower_->showPlan(answer.question, answer.final ? answer.plan : nullptr);
  going_on_->setVisible(!answer.final);
  setCurrentIndex(1);
}

void AnswerPanel::showWhyNot(const planner::WhyNot& why) {
  const bool known = why.smallest_limit_bytes > 0;
  QString reason = known ? tr("Does not fit %1; the smallest limit that works is %2.")
                               .arg(bytes(why.limit_bytes), bytes(why.smallest_limit_bytes))
                         : tr("Does not fit %1; looking for the smallest limit…").arg(bytes(why.limit_bytes));
  if (!why.pass_name.empty()) {
    reason += "\n" + tr("Pass %1 (%2) determines this limit. It holds the tensors listed below.")
                         .arg(why.pass)
                         .arg(figure_text(why.pass_name));
  }
  reason_->setText(reason);
  smallest_limit_ = why.smallest_limit_bytes;
  smallest_->setText(tr("Us&e the smallest limit, %1").arg(bytes(smallest_limit_)));
  smallest_->setVisible(known);
  remedies_ = why.remedies;
  changes_->setTable(remedies_table(why));
  changes_->chooseRow(0);
  changes_->setVisible(!remedies_.empty());
  use_change_->setVisible(!remedies_.empty());
  blockers_->setTable(holdings(why.blockers));
  setCurrentIndex(2);
}

void AnswerPanel::useChange() {
  const int row = changes_->chosenRow();
  if (row < 0 || row >= std::ssize(remedies_)) return;
  if (const auto question = with_remedy(workspace_.question(), remedies_[static_cast<size_t>(row)], this))
    workspace_.ask(*question);
}

}  // namespace headroom::gui
