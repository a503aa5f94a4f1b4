#pragma once

#include <optional>

#include "gui/model/scaling_job.h"
#include "gui/view/page.h"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace headroom::gui {

class ChartView;

/// Peak against size of what is asked for, untiled and planned, as it is worked out size by size, with the
/// largest pictures that fit the limit. Works only while it is visible.
class ScalingView : public QWidget {
  Q_OBJECT
 public:
  explicit ScalingView(Workspace& workspace, QWidget* parent = nullptr);
  bool busy() const { return job_.busy(); }
  Export exporter() const;

 Q_SIGNALS:
  void busyChanged();
  void limitDragged(double bytes);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void work();
  void take(const ScalingProgress& progress);
  void showBusy(bool busy);
  void draw();
  void sayLargest(const reports::Scaling& shown);
  int64_t mostAcross() const;

  Workspace& workspace_;
  ScalingJob job_;
  std::optional<PlanningQuestion> asked_;
  int64_t asked_across_ = 0;
  ScalingProgress progress_;
  ChartView* chart_;
  QComboBox* most_;
  QLabel* words_;
  QProgressBar* bar_;
  QPushButton* go_on_;
};

}  // namespace headroom::gui
