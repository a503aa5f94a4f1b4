#pragma once

#include <QWidget>
#include <optional>

#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "reports/figures/scaling.h"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace headroom::gui {

class ChartView;

/// Progress of the computation over all sizes of a question.
struct ScalingProgress {
  reports::Scaling scaling;  ///< planned and untiled, smallest size first
  size_t done = 0;           ///< number of sizes done
  size_t sizes = 0;
};

/// Peak against size for the question, untiled and planned, with the largest pictures that fit the limit. The
/// curves grow size by size. Computes only while visible.
class ScalingView : public QWidget {
  Q_OBJECT
 public:
  explicit ScalingView(Workspace& workspace, QWidget* parent = nullptr);
  bool busy() const { return job_.busy(); }

 Q_SIGNALS:
  void busyChanged();
  void limitDragged(double bytes);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void work();
  void start();
  void take(const ScalingProgress& progress);
  void showBusy(bool busy);
  void draw();
  void sayLargest(const reports::Scaling& shown);
  int64_t mostAcross() const;

  Workspace& workspace_;
  std::optional<PlanningQuestion> asked_;
  int64_t asked_across_ = 0;
  ScalingProgress progress_;
  QString failure_;  ///< error that stopped the computation; empty: none
  ChartView* chart_;
  QComboBox* most_;
  QLabel* words_;
  QProgressBar* bar_;
  QPushButton* go_on_;
  Job job_;
};

}  // namespace headroom::gui
