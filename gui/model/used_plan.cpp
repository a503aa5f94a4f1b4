#include "gui/model/used_plan.h"

#include <QDir>
#include <QFileInfo>
#include <utility>

#include "decoder/graph/errors.h"
#include "decoder/outputs/whole_file.h"
#include "decoder/plan/plan_file.h"

namespace headroom::gui {
namespace {

const QString kUsedPlan = QStringLiteral("used-plan");

std::string text_of(const reports::DocumentPtr& plan) {
  const auto& document = *plan->as<reports::PlanDocument>();
  return plan_text(document.plan, document.model.graph);
}

/// Opens the file of a plan; `question` is what is asked once it is read.
void open_with(Workspace& workspace, const QString& file, const PlanningQuestion& question) {
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

}  // namespace

UsedPlan::UsedPlan(Workspace& workspace) : QObject(&workspace), workspace_(workspace) {
  setObjectName(kUsedPlan);
}

UsedPlan& UsedPlan::of(Workspace& workspace) {
  QObject* known = workspace.findChild<QObject*>(kUsedPlan, Qt::FindDirectChildrenOnly);
  return known == nullptr ? *new UsedPlan(workspace) : *static_cast<UsedPlan*>(known);
}

void UsedPlan::use(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& name) {
  if (!folder_.dir().isValid()) throw DeviceError(QDir::tempPath().toStdString() + ": cannot be written");
  const QString file = folder_.dir().filePath(name);
  write_file_whole(file.toStdString(),
                   text_of(plan));  // before the others are closed: where it cannot be, they stay
  const std::vector<reports::DocumentPtr> open = workspace_.documents();
  for (const reports::DocumentPtr& document : open) {
    if (is(*document)) workspace_.close(document);
  }
  open_with(workspace_, file, question);
}

bool UsedPlan::is(const reports::Document& document) const {
  return document.file.parent_path() == folder_.dir().path().toStdString();
}

reports::DocumentPtr UsedPlan::unsaved() const {
  for (const reports::DocumentPtr& document : workspace_.documents()) {
    if (is(*document)) return text_of(document) == saved_ ? nullptr : document;
  }
  return nullptr;
}

void UsedPlan::save(const reports::DocumentPtr& plan, const QString& file) {
  std::string text = text_of(plan);
  write_file_whole(file.toStdString(), text);
  saved_ = std::move(text);
}

void save_plan(Workspace& workspace, const reports::DocumentPtr& plan, const PlanningQuestion& question,
               const QString& file) {
  UsedPlan::of(workspace).save(plan, file);
  open_with(workspace, file, question);
}

}  // namespace headroom::gui
