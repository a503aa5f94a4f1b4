#pragma once

#include <QStackedWidget>

#include "gui/model/replanner.h"

class QFormLayout;
class QLabel;
class QPushButton;

namespace headroom::gui {

class LowerPeakBox;
class TableView;

/// Figures of the plan under the limit. If nothing fits, it shows the reason and a table of remedies.
class AnswerPanel : public QStackedWidget {
  Q_OBJECT
 public:
  explicit AnswerPanel(Workspace& workspace, QWidget* parent = nullptr);
  void showAnswer(const Answer& answer);
  void showWords(const QString& words);
  /// Compares the peak of a plan with that of the untiled decode. 0 bytes: the latter is not known.
  void showUntiled(const planner::UntiledPeak& untiled, int64_t planned_bytes);
  LowerPeakBox& lower() { return *lower_; }
  /// Table of the memory on the device at the peak.
  TableView& live() { return *live_; }

 Q_SIGNALS:
  void useAsked();
  void saveAsked();

 private:
  QWidget* buildWords();
  QWidget* buildPlan();
  QWidget* buildWhyNot();
  QLabel* fact(const QString& name, const char* object, const QString& explanation);
  void showPlan(const Answer& answer);
  void showWhyNot(const planner::WhyNot& why);
  void useChange();

  Workspace& workspace_;
  QFormLayout* facts_;
  QLabel *words_, *peak_, *untiled_, *time_, *proof_, *passes_, *weights_, *decided_, *going_on_, *reason_;
  QPushButton *smallest_, *use_change_;
  LowerPeakBox* lower_;
  TableView *live_, *blockers_, *changes_;
  std::vector<planner::Remedy> remedies_;  ///< rows of changes_
  int64_t smallest_limit_ = 0;
};

}  // namespace headroom::gui
