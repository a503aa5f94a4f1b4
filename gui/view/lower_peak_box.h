#pragma once

#include <QCoreApplication>
#include <QFrame>
#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "planner/explain/remedy.h"

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

class QLabel;
class QPushButton;

namespace headroom::gui {

class TableView;

/// Table of remedies that lower the peak of a plan, with the peak, time and cost of each. A button plans with
/// the chosen one and uses the result. Computes nothing while hidden.
class LowerPeakBox : public QWidget {
  Q_OBJECT
 public:
  explicit LowerPeakBox(Workspace& workspace, QWidget* parent = nullptr);
  /// `plan` is the answer to `question`; null clears.
  void showPlan(const PlanningQuestion& question, const reports::DocumentPtr& plan);
  bool busy() const { return job_.busy(); }
  /// Time limit of the search for remedies, from the next plan on.
  void setPatience(double seconds) { patience_seconds_ = seconds; }

 Q_SIGNALS:
  void used();  ///< another plan is now in use on all pages
  void busyChanged();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  reports::Table tableOf() const;
  void choose(int row);
  void look();
  void take(const planner::LowerPeak& lower);
  void use(const planner::LowerWay& way);
  void say(const QString& words);

  Workspace& workspace_;
  PlanningQuestion question_;
  reports::DocumentPtr plan_;
  bool looked_ = false;
  double patience_seconds_ = planner::kSecondsToLook;
  QLabel *words_, *left_;
  TableView* table_;
  QPushButton* use_;
  std::vector<planner::LowerWay> ways_;  ///< rows of the table
  Job job_;
};

/// Descriptions of remedies, in the window's language.
class RemedyWords {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::RemedyWords)
 public:
  /// Name of a remedy. `option` is its command-line option: "--dtype bf16". Empty: only the limit gets
  /// smaller.
  static QString name(const std::string& option);
  /// The other memory that a remedy takes: "takes 1.2 GiB in host memory". Empty if it takes none.
  static QString needs(const planner::Remedy& remedy);
  /// How a plan's time compares with another's: "35 % faster", "4.9 % slower", "as fast".
  static QString speed(double seconds, double than_seconds);
};

/// The question with this remedy applied. Nothing if the user had to choose a folder and cancelled.
std::optional<PlanningQuestion> with_remedy(PlanningQuestion question, const planner::Remedy& remedy,
                                            QWidget* parent);

}  // namespace headroom::gui
