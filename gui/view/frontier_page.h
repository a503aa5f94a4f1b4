#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "gui/model/replanner.h"
#include "gui/view/page.h"

class QLabel;

namespace headroom::gui {

class AnswerPanel;
class ChartView;
class LimitField;
class ScalingView;
class TableView;

/// The frontier of the question (peak against time) and peak against size. The limit is a handle. While it
/// moves, the page shows the plan under it, or why there is none. A frontier from a file is drawn for
/// comparison. A plan becomes a document only when it is used or saved, so dragging leaves no files behind.
class FrontierPage : public Page {
  Q_OBJECT
 public:
  explicit FrontierPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("frontier"); }
  QString title() const override { return tr("Frontier"); }
  bool busy() const override;
  std::vector<Export> exports() override;

  /// Answer shown beside the frontier.
  const Answer& answer() const { return answer_; }
  /// Writes the shown plan atomically and opens it. Throws DeviceError.
  void savePlan(const QString& file);

 public Q_SLOTS:
  /// Makes the shown plan the plan of all pages and opens the page Plan. The plan's file is temporary and
  /// replaces the one used before.
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
  /// The answer's plan if it is a plan for the current question, else null.
  const Plan* planOfQuestion() const;
  void markAnswer(reports::Chart& chart) const;
  void markUntiled(reports::Chart& chart) const;
  bool isDrawn(const reports::DocumentPtr& file) const;
  QString otherCosts() const;
  void askForFile();
  /// Runs a function that writes files and shows its error.
  template <typename Write>
  void attempt(const Write& write);

  Workspace& workspace_;
  Replanner replanner_;
  std::optional<PlanningQuestion> asked_;
  std::vector<planner::FrontierPoint> found_;   ///< result of the frontier search
  std::vector<planner::FrontierPoint> points_;  ///< shown points: those found, and the answer's plan
  Answer answer_;
  reports::DocumentPtr file_;                ///< the chosen frontier from a file
  std::optional<Request> file_request_;      ///< its decode
  planner::UntiledPeak untiled_;             ///< 0 bytes until the search of the frontier reports it
  std::pair<double, double> whole_range_{};  ///< range of the chart when it is not zoomed
  QLabel* example_;                          ///< shown while nobody has chosen the decode
  QLabel* costs_;                            ///< shown if open files have times by other costs
  LimitField* limit_;
  ChartView* chart_;
  TableView* table_;
  ScalingView* scaling_;
  AnswerPanel* panel_;
};

}  // namespace headroom::gui
