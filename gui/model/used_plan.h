#pragma once

#include <QObject>
#include <string>

#include "gui/model/window_folder.h"
#include "gui/model/workspace.h"

namespace headroom::gui {

/// The plan that is used without being saved: it has a file that goes with the workspace.
class UsedPlan : public QObject {
 public:
  /// The workspace's own: pages may be made anew.
  static UsedPlan& of(Workspace& workspace);
  /// Opens `plan` as the answer to `question` under this name, in place of the one that was used before.
  /// Throws DeviceError where it cannot be written; then all stays as it was.
  void use(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& name);
  bool is(const reports::Document& document) const;
  /// The plan in use, unless it was saved; null where there is none.
  reports::DocumentPtr unsaved() const;
  /// Writes a plan to a file of the user's, whole or not at all. Throws DeviceError.
  void save(const reports::DocumentPtr& plan, const QString& file);

 private:
  explicit UsedPlan(Workspace& workspace);
  Workspace& workspace_;
  WindowFolder folder_;
  std::string saved_;  ///< the text of the plan that was saved last
};

/// Writes the plan, whole or not at all, and opens it; `question` is then what is asked, since the file of a
/// plan says less than what led to it. Throws DeviceError.
void save_plan(Workspace& workspace, const reports::DocumentPtr& plan, const PlanningQuestion& question,
               const QString& file);

}  // namespace headroom::gui
