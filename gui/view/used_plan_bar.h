#pragma once

#include <QFrame>

#include "gui/model/workspace.h"

namespace headroom::gui {

/// Bar above a plan that is in use but not saved: describes it and offers the next steps.
class UsedPlanBar : public QFrame {
  Q_OBJECT
 public:
  explicit UsedPlanBar(Workspace& workspace, QWidget* parent = nullptr);
  /// Hides the bar if the plan is null or saved by the user.
  void showPlan(const reports::DocumentPtr& plan);
  /// Saves the plan and opens the saved file in its place. Throws DeviceError.
  void save(const QString& file);

 Q_SIGNALS:
  void runAsked();
  void message(const QString& text);

 private:
  void askForFile();
  Workspace& workspace_;
  reports::DocumentPtr plan_;
};

/// Suggested name of the plan's file: "sdxl-1024x1024-1GiB.plan.json".
QString plan_file_name(const reports::DocumentPtr& plan);

}  // namespace headroom::gui
