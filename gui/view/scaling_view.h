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

/// How far the sizes of a question have come.
struct ScalingProgress {
  reports::Scaling scaling;  ///< planned and untiled, smallest size first
  size_t done = 0;           ///< of the sizes
  size_t sizes = 0;
};

/// Peak against size of what is asked for, untiled and planned, as it is worked out size by size, with the
/// largest pictures that fit the limit. Works only while it is visible.
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
  QString failure_;  ///< empty, or why there are no more sizes
  ChartView* chart_;
  QComboBox* most_;
  QLabel* words_;
  QProgressBar* bar_;
  QPushButton* go_on_;
  Job job_;
};

}  // namespace headroom::gui
