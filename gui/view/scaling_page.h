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
class LimitField;

/// Peak against resolution of what is asked for, untiled and planned, as it is worked out size by size, with
/// the largest pictures that fit the limit; and the latency table of one layer of the chosen profile.
class ScalingPage : public Page {
  Q_OBJECT
 public:
  explicit ScalingPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("scaling"); }
  QString title() const override { return tr("Scaling"); }
  bool busy() const override { return job_.busy(); }
  std::vector<Export> exports() override;

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* buildSide();
  QWidget* buildLatencyTables();
  void work();
  void take(const ScalingProgress& progress);
  void draw();
  void sayLargest(const reports::Scaling& shown);
  void listLayers();
  void drawLatencyTable();
  int64_t mostAcross() const;
  reports::DocumentPtr profile() const;

  Workspace& workspace_;
  ScalingJob job_;
  std::optional<PlanningQuestion> asked_;
  int64_t asked_across_ = 0;
  ScalingProgress progress_;
  LimitField* limit_;
  ChartView *chart_, *latency_table_;
  QWidget* latency_tables_;
  QComboBox *most_, *layer_;
  QLabel *words_, *latency_table_words_;
  QProgressBar* bar_;
  QPushButton* go_on_;
};

}  // namespace headroom::gui
