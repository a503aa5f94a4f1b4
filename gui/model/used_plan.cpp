#include "gui/model/used_plan.h"

#include <QFileInfo>

#include "decoder/plan/plan_file.h"

namespace headroom::gui {
namespace {

const QString kUsedPlan = QStringLiteral("used-plan");

}  // namespace

UsedPlan::UsedPlan(Workspace& workspace) : QObject(&workspace), workspace_(workspace) {
  setObjectName(kUsedPlan);
}

UsedPlan& UsedPlan::of(Workspace& workspace) {
  QObject* known = workspace.findChild<QObject*>(kUsedPlan, Qt::FindDirectChildrenOnly);
  return known == nullptr ? *new UsedPlan(workspace) : *static_cast<UsedPlan*>(known);
}

void UsedPlan::use(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& name) {
  const reports::DocumentPtr used = plan;  // closing may let go of the last other one
  const std::vector<reports::DocumentPtr> open = workspace_.documents();
  for (const reports::DocumentPtr& document : open) {
    if (is(*document)) workspace_.close(document);
  }
  save_plan(workspace_, used, question, folder_.filePath(name));
}

bool UsedPlan::is(const reports::Document& document) const {
  return document.file.parent_path() == folder_.path().toStdString();
}

void save_plan(Workspace& workspace, const reports::DocumentPtr& plan, const PlanningQuestion& question,
               const QString& file) {
  const auto& [written, model] = *plan->as<reports::PlanDocument>();
  write_plan(file.toStdString(), written, model.graph);
  auto* until_read = new QObject(&workspace);
  const std::filesystem::path path = QFileInfo(file).absoluteFilePath().toStdString();
  QObject::connect(&workspace, &Workspace::opened, until_read,
                   [&workspace, until_read, question, path](const reports::DocumentPtr& document) {
                     if (document->file != path) return;
                     until_read->deleteLater();
                     workspace.ask(question);
                   });
  QObject::connect(&workspace, &Workspace::failed, until_read, &QObject::deleteLater);
  workspace.open({file});
}

}  // namespace headroom::gui
