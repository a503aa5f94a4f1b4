#pragma once

#include <QWidget>
#include <vector>

#include "gui/view/page.h"
#include "reports/figures/timeline.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class TableView;
class TreemapView;

/// What stands below a timeline: what was on the device at one moment; of a GPU's trace, by choice, tables of
/// what the GPU did.
class LiveBox : public QWidget {
  Q_OBJECT
 public:
  /// `name` is for settings.
  explicit LiveBox(const QString& name, QWidget* parent = nullptr);

  /// `entries` are those of the table: they are drawn as areas beside it.
  void showLive(const QString& caption, const reports::Table& live, std::vector<reports::LiveEntry> entries);
  /// None where there is no GPU: then nothing can be chosen.
  void showGpu(std::vector<reports::Table> tables);
  TableView* live() { return live_; }
  /// Of what the GPU did, the one that is chosen.
  TableView* gpu() { return gpu_; }
  QComboBox* chooser() { return chooser_; }
  TreemapView* treemap() { return treemap_; }
  /// `word` says of which timeline.
  std::vector<Export> exports(const QString& word) const;

 private:
  void showChosen();
  QLabel* caption_;
  QComboBox* chooser_;
  QStackedWidget* stack_;
  TableView *live_, *gpu_;
  TreemapView* treemap_;
  std::vector<reports::Table> tables_;
};

}  // namespace headroom::gui
