#pragma once

#include <QFrame>

#include "gui/model/workspace.h"

namespace headroom::gui {

/// Above a plan that is used and in no file of the user's: what it is, and what to do with it next.
class UsedPlanBar : public QFrame {
  Q_OBJECT
 public:
  explicit UsedPlanBar(Workspace& workspace, QWidget* parent = nullptr);
  /// Hides where the plan is a file of the user's, or null.
  void showPlan(const reports::DocumentPtr& plan);
  /// Writes it, opens that file in its place. Throws DeviceError.
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
