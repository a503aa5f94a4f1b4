#include "gui/model/replanner.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "decoder/base/errors.h"
#include "gui/model/groundwork.h"
#include "planner/explain/remedy.h"

namespace headroom::gui {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The first answer must come while the user still drags the limit.
constexpr milliseconds kFirstAnswer{60};
/// The next limit must not wait long for a proof under this one.
constexpr milliseconds kSecondAnswer{200};
/// Time limits of background searches.
constexpr milliseconds kProof{10'000}, kFrontierPoint{1500};
/// The search for other remedies starts once the limit has not moved for this time.
constexpr milliseconds kLimitAtRest{150};
constexpr milliseconds kBetweenFrontiers{60};

/// The first explanation of a limit that is too small. `smallest_live_bytes` leaves out gaps between live
/// blocks. If only the gaps do not fit, the smallest limit stays unknown (0).
planner::WhyNot does_not_fit(int64_t limit_bytes, int64_t smallest_live_bytes) {
  planner::WhyNot why;
  why.limit_bytes = limit_bytes;
  why.smallest_limit_bytes = smallest_live_bytes > limit_bytes ? smallest_live_bytes : 0;
  return why;
}

/// Adds one point to the frontier. False once the frontier is complete.
bool add_point(const Groundwork& ground, size_t most) {
  const std::vector<planner::FrontierPoint> points = ground.found().points();
  if (!points.empty() && !ground.found().smallest()) {
    ground.smallest();
    return true;
  }
  const std::optional<int64_t> limit = ground.found().next_limit();
  if (!limit || points.size() >= most) return false;
  const planner::ConfigurationSearch search = ground.search(*limit, kFrontierPoint);
  ground.found().add(*limit, search);  // an unproven plan is still a point of the frontier
  return search.best.has_value();
}

}  // namespace

/// Cached groundwork of one thread, reused for the next question.
struct Replanner::Ground {
  Groundwork& of(const PlanningQuestion& question, const std::shared_ptr<FoundPlans>& found) {
    if (made == nullptr || !same_but_limit(made->question(), question)) {
      made.reset();
      made = std::make_unique<Groundwork>(question, found);
    }
    return *made;
  }
  std::unique_ptr<Groundwork> made;
};

/// A question on its way through the threads.
struct Replanner::Asked {
  Replanner* replanner;  ///< used only in the GUI's thread, by functions that a turn posts
  PlanningQuestion question;
  std::shared_ptr<FoundPlans> found;
  Clock::time_point since = Clock::now();

  int64_t limit() const { return question.options.limit_bytes; }
  void tell(const Job::Turn& turn, Answer answer, bool final) const {
    answer.question = question;
    answer.final = final;
    answer.seconds = std::chrono::duration<double>(Clock::now() - since).count();
    turn.post([to = replanner, answer] { Q_EMIT to->answered(answer); });
  }
  /// Reports the plan that a search found. False if there is none, or if `gaps` finds no plan whose gaps
  /// fit the limit.
  bool tell_plan(const Job::Turn& turn, const Groundwork& ground, const planner::ConfigurationSearch& search,
                 const planner::GapSearch& gaps, bool final) const {
    if (!search.best) return false;
    Answer answer;
    answer.plan = ground.plan(search, limit(), gaps);
    if (answer.plan == nullptr) return false;
    answer.peak = reports::peak_cause(answer.plan);
    tell(turn, answer, final);
    return true;
  }

  enum class Left { nothing, proof, reasons };
  /// Finds the plan under the limit. Returns the remaining work.
  Left answer(const Job::Turn& turn, const Groundwork& ground) const {
    planner::ConfigurationSearch search = ground.search(limit(), kFirstAnswer);
    bool told = false;
    if (!search.in_time) {
      told = tell_plan(turn, ground, search, {Clock::now() + kFirstAnswer, false}, false);
      if (!told) tell(turn, Answer{}, false);
      if (!turn.goOn()) return Left::nothing;
      search = ground.search(limit(), kSecondAnswer);
    }
    if (search.in_time && !search.best) {
      Answer refusal;
      const auto smallest = ground.found().smallest();
      refusal.why_not = does_not_fit(limit(), smallest ? smallest->bytes : 0);
      tell(turn, refusal, false);
      return Left::reasons;
    }
    if (tell_plan(turn, ground, search, {Clock::now() + kSecondAnswer, false}, search.in_time))
      return search.in_time ? Left::nothing : Left::proof;
    if (!told) tell(turn, Answer{}, false);
    return Left::proof;
  }
  /// Searches for the proven fastest plan. Returns false if nothing fits.
  bool prove(const Job::Turn& turn, const Groundwork& ground) const {
    const planner::ConfigurationSearch search = ground.search(limit(), kProof);
    if (!search.best && !search.in_time)
      throw InputError("no plan was found in time; headroom-plan searches for as long as it takes");
    return tell_plan(turn, ground, search, {Clock::now() + kProof}, true);
  }
  void explain(const Job::Turn& turn, const Groundwork& ground) const {
    Answer answer;
    answer.why_not = does_not_fit(limit(), ground.smallest().bytes);
    tell(turn, answer, false);
    std::this_thread::sleep_for(kLimitAtRest);
    if (!turn.goOn()) return;
    answer.why_not = planner::why_not(ground.problem_under(limit()), planner::kSecondsToLook);
    tell(turn, answer, true);
  }
};

Replanner::Replanner(QObject* parent)
    : QObject(parent),
      quick_ground_(std::make_shared<Ground>()),
      slow_ground_(std::make_shared<Ground>()),
      frontier_ground_(std::make_shared<Ground>()) {
  for (Job* job : {&quick_, &slow_, &frontier_}) {
    connect(job, &Job::busyChanged, this, [this] {
      if (busy_ == busy()) return;
      busy_ = busy();
      Q_EMIT busyChanged(busy_);
    });
  }
}

bool Replanner::busy() const {
  return quick_.busy() || slow_.busy() || frontier_.busy();
}

/// The found plans of a question. All threads that work on the question share them.
std::shared_ptr<FoundPlans> Replanner::foundOf(const PlanningQuestion& question) {
  if (found_ == nullptr || !same_but_limit(known_, question)) {
    known_ = question;
    found_ = std::make_shared<FoundPlans>();
  }
  return found_;
}

void Replanner::ask(const PlanningQuestion& question) {
  const Asked asked{this, question, foundOf(question)};
  const auto failed = [this, question](const QString& failure) {
    Answer answer;
    answer.question = question;
    answer.failure = failure;
    Q_EMIT answered(answer);
  };
  quick_.start(
      [asked, ground = quick_ground_](const Job::Turn& turn) {
        return asked.answer(turn, ground->of(asked.question, asked.found));
      },
      [this, asked, failed](Asked::Left left) {
        if (left == Asked::Left::nothing) return;
        slow_.start(
            [asked, left, ground = slow_ground_](const Job::Turn& turn) {
              const Groundwork& of = ground->of(asked.question, asked.found);
              if (left == Asked::Left::reasons || !asked.prove(turn, of)) asked.explain(turn, of);
              return true;
            },
            [](bool) {}, failed);
      },
      failed);
  slow_.forget();
}

void Replanner::askFrontier(const PlanningQuestion& question, int points) {
  const auto most = static_cast<size_t>(std::max(points, 2));
  frontier_.start(
      [this, question, most, ground = frontier_ground_, found = foundOf(question)](const Job::Turn& turn) {
        const Groundwork& of = ground->of(question, found);
        FoundFrontier told{question, {}, false, {}, of.untiled()};
        Clock::time_point reported{};
        while (turn.goOn() && add_point(of, most)) {
          if (Clock::now() - reported < kBetweenFrontiers) continue;
          reported = Clock::now();
          told.points = of.points();
          turn.post([this, told] { Q_EMIT frontierFound(told); });
        }
        told.points = of.points();
        told.complete = true;
        return told;
      },
      [this](const FoundFrontier& told) { Q_EMIT frontierFound(told); },
      [this, question](const QString& failure) {
        Q_EMIT frontierFound({question, {}, true, failure});
      });
}

}  // namespace headroom::gui
