#pragma once

#include <QWidget>
#include <vector>

#include "gui/view/page.h"
#include "reports/figures/table.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class TableView;

/// Tables below a timeline: memory on the device at one moment. For a GPU's trace, the user can also choose a
/// table of the GPU's work.
class LiveBox : public QWidget {
  Q_OBJECT
 public:
  /// `name` is the key in the window's settings.
  explicit LiveBox(const QString& name, QWidget* parent = nullptr);

  void showLive(const QString& caption, const reports::Table& live);
  /// Sets the tables of the GPU's work. Empty if there is no GPU: the choice is then hidden.
  void showGpu(std::vector<reports::Table> tables);
  TableView* live() { return live_; }
  /// Chosen table of the GPU's work.
  TableView* gpu() { return gpu_; }
  QComboBox* chooser() { return chooser_; }
  /// `word` names the timeline in file names.
  std::vector<Export> exports(const QString& word) const;

 private:
  void showChosen();
  QLabel* caption_;
  QComboBox* chooser_;
  QStackedWidget* stack_;
  TableView *live_, *gpu_;
  std::vector<reports::Table> tables_;
};

}  // namespace headroom::gui
