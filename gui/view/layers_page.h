#pragma once

#include "gui/model/workspace.h"
#include "gui/view/page.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class ChartView;
class TableView;

/// A profile's measurements layer by layer: figures for each size, a layer's latency table, and live memory
/// at a size's peak. A recording of a VAE's own decodes shows live memory over time instead of latency
/// tables. The page shows the file that was opened or chosen last.
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
  /// Chooses a layer by its full name. Returns false if the shown file has no such layer, or if no file is
  /// open.
  bool chooseLayer(const QString& name);

 private:
  void showChosen();
  void showProfile();
  void showRecording();
  /// Chooses the first layer that stands out, or else the first layer. Returns its row; -1: no layers.
  int chooseFirst();
  void goToRow(int row);
  void showLatencyTable(int row);
  void showSize();
  Workspace& workspace_;
  reports::DocumentPtr profile_, recording_;  ///< chosen files at the last update
  reports::DocumentPtr document_;             ///< the shown one of the two
  reports::Table all_;                        ///< the layers' figures at all sizes
  QStackedWidget* stack_;
  QLabel* heading_;
  TableView *layers_, *live_;
  ChartView* chart_;  ///< the latency table of a layer, or live memory over time
  QLabel* chart_note_;
  QComboBox* sizes_;
  QLabel* peak_note_;
};

}  // namespace headroom::gui
