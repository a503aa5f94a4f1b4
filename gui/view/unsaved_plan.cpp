#include "gui/view/unsaved_plan.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QMessageBox>
#include <QPushButton>

#include "gui/model/used_plan.h"
#include "gui/view/say_failure.h"
#include "gui/view/used_plan_bar.h"

namespace headroom::gui {
namespace {

class UnsavedPlan {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::UnsavedPlan)
 public:
  static bool save(Workspace& workspace, const reports::DocumentPtr& plan, QWidget* parent) {
    const QString file =
        QFileDialog::getSaveFileName(parent, tr("Save plan"), plan_file_name(plan), tr("Plans (*.json)"));
    if (file.isEmpty()) return false;
    try {
      UsedPlan::of(workspace).save(plan, file);
      return true;
    } catch (const std::exception& error) {
      say_failure(parent, tr("Save plan"), QString::fromUtf8(error.what()));
      return false;
    }
  }

  static bool ask(Workspace& workspace, const reports::DocumentPtr& plan, QWidget* parent) {
    QMessageBox box(QMessageBox::Question, tr("Unsaved plan"), {}, QMessageBox::NoButton, parent);
    box.setObjectName(QStringLiteral("unsaved-plan"));
    box.setTextFormat(Qt::PlainText);  // before the text: the name of a file stands in it
    box.setText(tr("The plan %1 is not saved. Do you want to save it?").arg(Workspace::titleOf(*plan)));
    const auto* save_button = box.addButton(tr("&Save…"), QMessageBox::AcceptRole);
    const auto* discard = box.addButton(tr("&Discard"), QMessageBox::DestructiveRole);
    box.setEscapeButton(box.addButton(tr("Cancel"), QMessageBox::RejectRole));
    box.exec();
    if (box.clickedButton() == save_button) return save(workspace, plan, parent);
    return box.clickedButton() == discard;
  }
};

}  // namespace

bool may_lose_used_plan(Workspace& workspace, QWidget* parent) {
  const reports::DocumentPtr plan = UsedPlan::of(workspace).unsaved();
  return plan == nullptr || UnsavedPlan::ask(workspace, plan, parent);
}

}  // namespace headroom::gui
