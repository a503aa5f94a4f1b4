#pragma once

#include "gui/model/workspace.h"
#include "gui/view/page.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class ChartView;
class TableView;

/// What a profile measured layer by layer: figures for each size, the law of a layer, what was live at a
/// size's peak.
class LayersPage : public Page {
  Q_OBJECT
 public:
  explicit LayersPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("layers"); }
  QString title() const override { return tr("Layers"); }
  std::vector<Export> exports() override;

  TableView* layers() { return layers_; }
  ChartView* law() { return law_; }
  TableView* live() { return live_; }
  QComboBox* sizes() { return sizes_; }

 private:
  void showProfile();
  void showLaw(int row);
  void showPeak();
  Workspace& workspace_;
  DocumentPtr document_;
  QStackedWidget* stack_;
  QLabel* heading_;
  TableView *layers_, *live_;
  ChartView* law_;
  QLabel* law_note_;
  QComboBox* sizes_;
  QLabel* peak_note_;
};

}  // namespace headroom::gui
