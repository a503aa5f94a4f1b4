#pragma once

#include "gui/model/workspace.h"
#include "gui/view/page.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class ChartView;
class TableView;

/// A profile's measurements layer by layer: figures for each size, the latency table of a layer, live memory
/// at a size's peak. A recording of a VAE's own decodes has live memory over time in place of latency tables.
/// The page shows the one that was opened or chosen last.
class LayersPage : public Page {
  Q_OBJECT
 public:
  explicit LayersPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("layers"); }
  QString title() const override { return tr("Layers"); }
  std::vector<Export> exports() override;

  TableView* layers() { return layers_; }
  ChartView* chart() { return chart_; }
  TableView* live() { return live_; }
  QComboBox* sizes() { return sizes_; }
  /// Chooses a layer by its full name; false where what is shown has none of this name, or nothing is open.
  bool chooseLayer(const QString& name);

 private:
  void showChosen();
  void showProfile();
  void showRecording();
  /// The first layer that stands out, else the first one, chosen; -1 where there is none.
  int chooseFirst();
  void goToRow(int row);
  void showLatencyTable(int row);
  void showPeak();
  Workspace& workspace_;
  reports::DocumentPtr profile_, recording_;  ///< as they were chosen when one was shown last
  reports::DocumentPtr document_;             ///< that is shown
  QStackedWidget* stack_;
  QLabel* heading_;
  TableView *layers_, *live_;
  ChartView* chart_;  ///< the latency table of a layer, or live memory over time
  QLabel* chart_note_;
  QComboBox* sizes_;
  QLabel* peak_note_;
};

}  // namespace headroom::gui
