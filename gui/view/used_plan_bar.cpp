#include "gui/view/used_plan_bar.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QPushButton>

#include "gui/view/limit_field.h"
#include "gui/view/plain_text.h"

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

}  // namespace headroom::gui
