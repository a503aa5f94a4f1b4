#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "gui/model/groundwork.h"
#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "planner/explain/peak.h"
#include "planner/explain/why_not.h"
#include "planner/search/frontier.h"
#include "reports/figures/peak.h"

namespace headroom::gui {

/// Answer to a question. The search still runs if there is neither a plan, a reason nor a failure.
struct Answer {
  PlanningQuestion question;
  reports::DocumentPtr plan;   ///< null if nothing fits; the document has no file yet
  reports::PeakDecision peak;  ///< of the plan
  /// Set if nothing fits; its smallest limit stays 0 until the search finds it.
  std::optional<planner::WhyNot> why_not;
  QString failure;     ///< empty, or why it could not be planned at all
  bool final = true;   ///< false if a proof or other remedies may still follow
  double seconds = 0;  ///< time from the start of the work to this answer
};

/// The frontier of a question (peak against time), as far as it is known. The question's limit does not
/// matter.
struct FoundFrontier {
  PlanningQuestion question;
  std::vector<planner::FrontierPoint> points;  ///< largest peak first
  bool complete = false;
  QString failure;  ///< empty, or why it could not be planned at all
  planner::UntiledPeak untiled{};
};

/// Plans in its own threads, for the newest question only. Older questions that wait are dropped, and so are
/// their answers. State shared with the previous question (model, costs, spaces, found plans) is kept, so a
/// moved limit gets an answer in well below 100 ms. A longer search first reports the best plan so far, and
/// reports again as it goes on. The proof, the smallest limit, other remedies and the frontier take longer.
/// They run in separate threads, so the next limit does not wait for them.
class Replanner : public QObject {
  Q_OBJECT
 public:
  explicit Replanner(QObject* parent = nullptr);
  bool busy() const;

 public Q_SLOTS:
  void ask(const headroom::gui::PlanningQuestion& question);
  /// Ignores the question's limit and searches the frontier, with up to `points` points. frontierFound()
  /// reports it repeatedly as it gets finer.
  void askFrontier(const headroom::gui::PlanningQuestion& question, int points);

 Q_SIGNALS:
  void answered(const headroom::gui::Answer& answer);
  void frontierFound(const headroom::gui::FoundFrontier& found);
  void busyChanged(bool busy);

 private:
  struct Asked;
  struct Ground;
  std::shared_ptr<FoundPlans> foundOf(const PlanningQuestion& question);

  PlanningQuestion known_;  ///< question that found_ belongs to; its limit does not matter
  std::shared_ptr<FoundPlans> found_;
  std::shared_ptr<Ground> quick_ground_, slow_ground_, frontier_ground_;
  bool busy_ = false;
  Job quick_, slow_, frontier_;
};

}  // namespace headroom::gui
