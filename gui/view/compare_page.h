#pragma once

#include <memory>
#include <vector>

#include "gui/model/latest_job.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/timeline.h"

class QComboBox;
class QLabel;
class QSplitter;
class QTabWidget;

namespace headroom::gui {

class ChartView;
class TableView;

/// Two open files of one kind side by side, what differs the most first; of plans and traces also their
/// timelines, one above the other over the same range of time.
class ComparePage : public Page {
  Q_OBJECT
 public:
  explicit ComparePage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("compare"); }
  QString title() const override { return tr("Compare"); }
  bool busy() const override { return job_.busy(); }
  std::vector<Export> exports() override;

  const std::vector<TableView*>& tables() const { return tables_; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  using TimelinePtr = std::shared_ptr<const reports::Timeline>;
  struct Comparison {
    std::vector<reports::Table> tables;
    TimelinePtr a, b;  ///< null where there are none
  };
  QWidget* buildChoice();
  QWidget* buildTimelines();
  void listDocuments();
  void listSecond();
  void compareChosen();
  static Comparison work(const reports::DocumentPtr& a, const reports::DocumentPtr& b);
  void take(const Comparison& comparison);
  void say(const QString& words);
  void link(ChartView* from, ChartView* to);
  reports::DocumentPtr chosen(const QComboBox* box, const std::vector<reports::DocumentPtr>& listed) const;

  Workspace& workspace_;
  LatestJob job_;
  std::vector<reports::DocumentPtr> first_listed_, second_listed_;  ///< parallel to the entries of the boxes
  reports::DocumentPtr compared_first_, compared_second_;
  QComboBox *first_, *second_;
  QLabel* words_;
  QSplitter* halves_;
  QTabWidget* tabs_;
  std::vector<TableView*> tables_;
  QWidget* timelines_;
  ChartView *first_chart_, *second_chart_;
  bool linking_ = false;
};

}  // namespace headroom::gui
