#pragma once

#include <QTreeWidget>

#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::gui {

/// The passes of a plan: tensors read, operations and kept tensors, as in `headroom-plan explain`.
class PassTree : public QTreeWidget {
  Q_OBJECT
 public:
  explicit PassTree(QWidget* parent = nullptr);
  /// Null clears it.
  void setPlan(const reports::DocumentPtr& plan);
  /// The current pass, even if one of its lines is selected; -1 for none.
  int pass() const;
  void choosePass(int pass);
};

}  // namespace headroom::gui

class QLabel;
class QStackedWidget;
class QTabWidget;

namespace headroom::gui {

class GridView;
class LowerPeakBox;
class TableView;
class UsedPlanBar;

/// The chosen plan: its passes as a tree, the tiles of one pass, the kept tensors, and figures of all passes.
/// An open run adds its measurements. Choosing a pass anywhere shows it everywhere. Further tables compare
/// the plan with the one shown beside it. A rank's plan also gets a table of all ranks.
class PlanPage : public Page {
  Q_OBJECT
 public:
  explicit PlanPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("plan"); }
  QString title() const override { return tr("Plan"); }
  bool busy() const override;
  std::vector<Export> exports() override;

  int pass() const { return pass_; }

 public Q_SLOTS:
  void choosePass(int pass);
  /// Chooses a tile of the chosen pass. Tiles are counted row by row.
  void chooseTile(int tile);
  /// Turns to the remedies for the peak.
  void showLowerPeak();

 private:
  QWidget* buildViews();
  void refresh();
  void listTables();
  void showTables(const std::vector<reports::Table>& tables);

  Workspace& workspace_;
  reports::DocumentPtr plan_, run_, beside_;
  int pass_ = -1;
  QStackedWidget* stack_;
  UsedPlanBar* used_;
  LowerPeakBox* lower_;
  QLabel* summary_;
  PassTree* tree_;
  GridView* grid_;
  QTabWidget* tabs_;  ///< the passes and the kept tensors, then the other tables
  TableView *table_, *kept_;
  Job job_;
  std::vector<reports::DocumentPtr> tabled_;  ///< files that the other tables show
};

}  // namespace headroom::gui
