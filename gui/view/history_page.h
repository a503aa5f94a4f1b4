#pragma once

#include <optional>

#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/decoder_need.h"
#include "reports/figures/history.h"

class QComboBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;
class QStackedWidget;

namespace headroom::gui {

class ChartView;
class TableView;

/// PyTorch's record of its memory: allocated and reserved bytes over time, live memory at the cursor by
/// module and by tensor, and the last request. Also shows what Headroom would need for the decoder in
/// question.
class HistoryPage : public Page {
  Q_OBJECT
 public:
  explicit HistoryPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("history"); }
  QString title() const override { return tr("PyTorch memory"); }
  bool busy() const override;
  std::vector<Export> exports() override;

 public Q_SLOTS:
  void goToPeak();
  void goToLastRequest();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* buildSide();
  QWidget* buildMiddle();
  QWidget* buildTables();
  void showDocument();
  void showDevice();
  /// Shows the moment at x. With `whole_column`, shows the highest moment of its pixel column instead.
  void lookAt(double x, bool whole_column);
  void showMoment(size_t moment);
  void showStack(int row);
  void work();
  void showNeed();
  QString ofOpenPlan() const;
  QWidget* buildTensors();
  void askAboutRecording(PlanningQuestion question);
  const profiler::MemoryHistory* history() const;
  const profiler::DeviceHistory* device() const;
  const DeviceRecord& record() const;  ///< of the device's kind
  Workspace& workspace_;
  reports::DocumentPtr document_;
  std::optional<size_t> moment_;
  std::optional<PlanningQuestion> asked_;
  std::optional<reports::DecoderNeed> need_;
  std::vector<reports::LiveStack> live_;  ///< rows of tensors_ at the shown moment
  QString fault_;                         ///< error message if need_ could not be computed; empty until then
  QStackedWidget* stack_;
  QComboBox* devices_;
  QLabel *words_, *caption_, *need_words_;
  QPushButton *peak_, *last_;
  ChartView* chart_;
  TableView *modules_, *tensors_, *need_table_;
  QPlainTextEdit* whole_stack_;  ///< of the chosen row of tensors_
  Job job_;
};

}  // namespace headroom::gui
