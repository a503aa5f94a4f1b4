#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "gui/model/replanner.h"
#include "gui/view/page.h"

namespace headroom::gui {

class AnswerPanel;
class ChartView;
class LimitField;
class ScalingView;
class TableView;

/// Peak against time of what is asked for, and peak against size, with the limit as a handle: the plan under
/// it is found while it moves, or why there is none. The frontier of a file is drawn beside it. A plan
/// becomes a document only when it is used or saved, so that dragging leaves nothing behind.
class FrontierPage : public Page {
  Q_OBJECT
 public:
  explicit FrontierPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("frontier"); }
  QString title() const override { return tr("Frontier"); }
  bool busy() const override;
  std::vector<Export> exports() override;

  /// The answer that is shown beside the frontier.
  const Answer& answer() const { return answer_; }
  /// Writes the plan that is shown, whole or not at all, and opens it. Throws DeviceError.
  void savePlan(const QString& file);

 public Q_SLOTS:
  /// Makes the plan that is shown the one that the other pages show, in a file that is gone with the window
  /// and in place of the one that was used before, and leads to the page Plan.
  void usePlan();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* buildMiddle();
  void plan();
  void take(const Answer& answer);
  void takeFrontier(const FoundFrontier& found);
  void showPoints(const std::vector<planner::FrontierPoint>& points);
  void chooseLimit();
  void draw();
  void markAnswer(reports::Chart& chart) const;
  void askForFile();
  /// Runs what writes files and says what went wrong.
  template <typename Write>
  void attempt(const Write& write);

  Workspace& workspace_;
  Replanner replanner_;
  std::optional<PlanningQuestion> asked_;
  std::vector<planner::FrontierPoint> found_;   ///< by the search for the frontier
  std::vector<planner::FrontierPoint> points_;  ///< that are shown: the answer's plan is one of them
  Answer answer_;
  std::pair<double, double> whole_range_{};  ///< of the chart, unless it is zoomed
  LimitField* limit_;
  ChartView* chart_;
  TableView* table_;
  ScalingView* scaling_;
  AnswerPanel* panel_;
};

}  // namespace headroom::gui
