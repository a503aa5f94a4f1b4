#pragma once

#include <vector>

#include "gui/model/latest_job.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/ranks.h"

class QComboBox;
class QLabel;
class QStackedWidget;
class QVBoxLayout;

namespace headroom::gui {

class ChartView;
class TableView;

/// What the ranks of one decode took, planned and as they ran, as a table and as charts one above another
/// over the same time.
class RanksPage : public Page {
  Q_OBJECT
 public:
  explicit RanksPage(Workspace& workspace, QWidget* parent = nullptr);
  ~RanksPage() override;
  QString key() const override { return QStringLiteral("ranks"); }
  QString title() const override { return tr("Ranks"); }
  bool busy() const override { return job_.busy(); }
  std::vector<Export> exports() override;

  TableView* table() { return table_; }
  /// Those that are drawn, by rank.
  const std::vector<ChartView*>& charts() const { return charts_; }
  QComboBox* runs() { return runs_; }
  /// Whether charts show what was predicted or what was measured.
  QComboBox* shown() { return shown_; }

 private:
  QWidget* buildHead();
  void read();
  void take(const std::vector<reports::RankedRun>& runs);
  void showRun();
  void draw();
  void drawChart(size_t rank, const reports::Chart& chart, double end);
  ChartView* newChart();
  const reports::RankedRun* run() const;
  Workspace& workspace_;
  LatestJob job_;
  std::vector<reports::DocumentPtr> read_;  ///< the files that the runs are of
  std::vector<reports::RankedRun> found_;
  QStackedWidget* stack_;
  QComboBox *runs_, *shown_;
  QLabel* words_;
  TableView* table_;
  QVBoxLayout* column_;  ///< of the charts
  std::vector<ChartView*> charts_;
  bool linking_ = false;
};

}  // namespace headroom::gui
