#pragma once

#include "gui/model/workspace.h"
#include "gui/view/page.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class ChartView;
class TableView;

/// What a profile measured layer by layer: figures for each size, the latency table of a layer, what was live
/// at a size's peak.
class LayersPage : public Page {
  Q_OBJECT
 public:
  explicit LayersPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("layers"); }
  QString title() const override { return tr("Layers"); }
  std::vector<Export> exports() override;

  TableView* layers() { return layers_; }
  ChartView* latency_table() { return latency_table_; }
  TableView* live() { return live_; }
  QComboBox* sizes() { return sizes_; }
  /// Chooses a layer by its full name; false where the profile has none of this name, or none is open.
  bool chooseLayer(const QString& name);

 private:
  void showProfile();
  void goToRow(int row);
  void showLatencyTable(int row);
  void showPeak();
  Workspace& workspace_;
  reports::DocumentPtr document_;
  QStackedWidget* stack_;
  QLabel* heading_;
  TableView *layers_, *live_;
  ChartView* latency_table_;
  QLabel* latency_table_note_;
  QComboBox* sizes_;
  QLabel* peak_note_;
};

}  // namespace headroom::gui
