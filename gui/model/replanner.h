#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "gui/model/found_plans.h"
#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "planner/explain/why_not.h"
#include "planner/search/frontier.h"
#include "reports/figures/peak.h"

namespace headroom::gui {

/// What came of a question. With nothing in it: it is still being searched.
struct Answer {
  PlanningQuestion question;
  reports::DocumentPtr plan;   ///< null where nothing fits; not in a file yet
  reports::PeakDecision peak;  ///< of the plan
  std::optional<planner::WhyNot>
      why_not;         ///< where nothing fits; its smallest limit is 0 as long as it is looked for
  QString failure;     ///< empty, or why it could not be planned at all
  bool final = true;   ///< false where more is on its way: a proof, or what else would help
  double seconds = 0;  ///< from when it was taken up to this answer
};

/// Peak against time of a question whatever its limit, as far as it is known.
struct FoundFrontier {
  PlanningQuestion question;
  std::vector<planner::FrontierPoint> points;  ///< largest peak first
  bool complete = false;
  QString failure;  ///< empty, or why it could not be planned at all
};

/// Plans in threads of its own, always the newest question: those that wait are dropped, and answers to older
/// ones than the newest are dropped. What a question has in common with the one before (model, costs,
/// spaces, plans that were found) is kept, so that a moved limit is answered in well below 100 ms. A
/// search that takes longer is answered with the best so far, and again when it is done or has gone on for a
/// second. What cannot be stopped has threads of its own, which the next limit does not wait for: the
/// smallest limit, what else would help, the frontier.
class Replanner : public QObject {
  Q_OBJECT
 public:
  explicit Replanner(QObject* parent = nullptr);
  bool busy() const;

 public Q_SLOTS:
  void ask(const headroom::gui::PlanningQuestion& question);
  /// The same question without its limit: the frontier with up to so many points, reported by
  /// frontierFound() again and again as it gets finer.
  void askFrontier(const headroom::gui::PlanningQuestion& question, int points);

 Q_SIGNALS:
  void answered(const headroom::gui::Answer& answer);
  void frontierFound(const headroom::gui::FoundFrontier& found);
  void busyChanged(bool busy);

 private:
  struct Asked;
  struct Ground;
  std::shared_ptr<FoundPlans> foundOf(const PlanningQuestion& question);

  PlanningQuestion known_;  ///< whose plans found_ has, whatever its limit
  std::shared_ptr<FoundPlans> found_;
  std::shared_ptr<Ground> quick_ground_, slow_ground_, frontier_ground_;
  bool busy_ = false;
  Job quick_, slow_, frontier_;
};

}  // namespace headroom::gui
