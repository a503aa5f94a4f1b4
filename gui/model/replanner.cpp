#include "gui/model/replanner.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "decoder/graph/errors.h"
#include "gui/model/groundwork.h"
#include "planner/explain/lower_peak.h"

namespace headroom::gui {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Something must be on the screen while the eye still follows the hand.
constexpr milliseconds kFirstAnswer{60};
/// And the next limit is not to wait long for a proof under this one.
constexpr milliseconds kSecondAnswer{200};
/// Of searches that nothing waits for.
constexpr milliseconds kProof{10'000}, kFrontierPoint{1500};
/// What else would help is worked out once the limit has not moved for so long.
constexpr milliseconds kLimitAtRest{150};
constexpr milliseconds kBetweenFrontiers{60};

/// A question with its number; newer ones have larger numbers.
struct NumberedQuestion {
  PlanningQuestion question;
  quint64 number = 0;
  Clock::time_point since = Clock::now();
};

struct FrontierJob {
  PlanningQuestion question;
  size_t points = 0;
  quint64 number = 0;
};

/// As much as is known at first. `smallest_live_bytes` leaves out gaps between what is live: where only they
/// do not fit, the smallest limit is still to be found.
planner::WhyNot does_not_fit(int64_t limit_bytes, int64_t smallest_live_bytes) {
  planner::WhyNot why;
  why.limit_bytes = limit_bytes;
  why.smallest_limit_bytes = smallest_live_bytes > limit_bytes ? smallest_live_bytes : 0;
  return why;
}

}  // namespace

/// What the threads and that of the GUI share. Everything but the link is under the mutex.
struct Replanner::Board {
  explicit Board(Replanner& owner) : link(owner), replanner(&owner) {}

  OwnerLink link;
  Replanner* const replanner;  ///< only where the link posts
  std::mutex mutex;
  std::condition_variable_any wake;
  quint64 number = 0, frontier_number = 0;   ///< of the newest questions
  std::optional<NumberedQuestion> asked;     ///< waits for a plan
  std::optional<NumberedQuestion> unproven;  ///< waits for a proof, or for any plan
  std::optional<NumberedQuestion> refused;   ///< nothing fits: waits for why
  std::optional<FrontierJob> frontier;       ///< as long as there is something left of it
  std::optional<PlanningQuestion> known;     ///< whose plans these are, whatever its limit
  std::shared_ptr<FoundPlans> found;

  void tell(Answer answer, const NumberedQuestion& asked_for, bool final) {
    answer.question = asked_for.question;
    answer.final = final;
    answer.seconds = std::chrono::duration<double>(Clock::now() - asked_for.since).count();
    link.post([to = replanner, answer, asked_number = asked_for.number] { to->tell(answer, asked_number); });
  }

  void tell(const FoundFrontier& told, quint64 reported_number) {
    link.post([to = replanner, told, reported_number] { to->tellFrontier(told, reported_number); });
  }

  /// Shared by the threads as long as they are at the same question.
  std::shared_ptr<FoundPlans> found_of(const PlanningQuestion& question) {
    const std::lock_guard lock(mutex);
    if (!known || !same_but_limit(*known, question)) {
      known = question;
      found = std::make_shared<FoundPlans>();
    }
    return found;
  }

  bool is_newest(const NumberedQuestion& which) {
    const std::lock_guard lock(mutex);
    return which.number == number;
  }
};

/// What both threads have.
class Replanner::Worker {
 public:
  explicit Worker(std::shared_ptr<Board> board) : board_(std::move(board)) {}

 protected:
  Groundwork& ground_of(const PlanningQuestion& question) {
    if (ground_ == nullptr || !same_but_limit(ground_->question(), question)) {
      ground_.reset();
      ground_ = std::make_unique<Groundwork>(question, board_->found_of(question));
    }
    return *ground_;
  }

  Board& board() { return *board_; }

  /// What a search has found, if anything. False where there is no plan: none has room for its gaps, as far
  /// as `gaps` goes.
  bool tell_plan(const Groundwork& ground, const planner::ConfigurationSearch& search,
                 const NumberedQuestion& asked, const planner::GapSearch& gaps, bool final) {
    if (!search.best) return false;
    Answer answer;
    answer.plan = ground.plan(search, asked.question.options.limit_bytes, gaps);
    if (answer.plan == nullptr) return false;
    answer.peak = reports::peak_cause(answer.plan);
    board().tell(answer, asked, final);
    return true;
  }

  void tell_failure(const std::exception& error, const NumberedQuestion& asked) {
    Answer answer;
    answer.failure = QString::fromStdString(error.what());
    board().tell(answer, asked, true);
  }

 private:
  std::shared_ptr<Board> board_;
  std::unique_ptr<Groundwork> ground_;
};

/// Finds the plan under the newest limit.
class Replanner::QuickWorker : public Worker {
 public:
  using Worker::Worker;

  void run(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(board().mutex);
      board().wake.wait(lock, stop, [&] { return board().asked.has_value(); });
      if (stop.stop_requested()) return;
      const NumberedQuestion asked = *std::exchange(board().asked, std::nullopt);
      lock.unlock();
      try {
        answer(asked, stop);
      } catch (const std::exception& error) {
        tell_failure(error, asked);
      }
    }
  }

 private:
  void answer(const NumberedQuestion& asked, const std::stop_token& stop) {
    const Groundwork& ground = ground_of(asked.question);
    const int64_t limit = asked.question.options.limit_bytes;
    planner::ConfigurationSearch search = ground.search(limit, kFirstAnswer);
    bool told = false;
    if (!search.in_time) {
      told = tell_plan(ground, search, asked, {Clock::now() + kFirstAnswer, false}, false);
      if (!told) board().tell(Answer{}, asked, false);
      if (stop.stop_requested() || !board().is_newest(asked)) return;
      search = ground.search(limit, kSecondAnswer);
    }
    if (search.in_time && !search.best) return refuse(ground, asked);
    if (tell_plan(ground, search, asked, {Clock::now() + kSecondAnswer, false}, search.in_time)) {
      if (search.in_time) return;
    } else if (!told) {
      board().tell(Answer{}, asked, false);
    }
    hand_over(board().unproven, asked);
  }

  void refuse(const Groundwork& ground, const NumberedQuestion& asked) {
    Answer answer;
    const auto smallest = ground.found().smallest();
    answer.why_not = does_not_fit(asked.question.options.limit_bytes, smallest ? smallest->bytes : 0);
    board().tell(answer, asked, false);
    hand_over(board().refused, asked);
  }

  /// To the other thread, unless it is of no use any more.
  void hand_over(std::optional<NumberedQuestion>& slot, const NumberedQuestion& asked) {
    const std::lock_guard lock(board().mutex);
    if (asked.number != board().number) return;
    slot = asked;
    board().wake.notify_all();
  }
};

/// Proves what takes long, finds out why nothing fits, and otherwise one point of the frontier after another.
class Replanner::SlowWorker : public Worker {
 public:
  using Worker::Worker;

  void run(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(board().mutex);
      board().wake.wait(lock, stop, [&] { return board().unproven || board().refused || board().frontier; });
      if (stop.stop_requested()) return;
      const std::optional<NumberedQuestion> unproven = std::exchange(board().unproven, std::nullopt),
                                            refused = std::exchange(board().refused, std::nullopt);
      if (unproven || refused) {
        const NumberedQuestion& asked = unproven ? *unproven : *refused;
        lock.unlock();
        try {
          if (refused || !prove(asked)) explain(asked, stop);
        } catch (const std::exception& error) {
          tell_failure(error, asked);
        }
      } else {
        const FrontierJob job = *board().frontier;
        lock.unlock();
        go_on(job);
      }
    }
  }

 private:
  /// False where nothing fits.
  bool prove(const NumberedQuestion& asked) {
    const Groundwork& ground = ground_of(asked.question);
    const planner::ConfigurationSearch search = ground.search(asked.question.options.limit_bytes, kProof);
    if (!search.best && !search.in_time)
      throw InputError("no plan was found in time; headroom-plan searches for as long as it takes");
    return tell_plan(ground, search, asked, {Clock::now() + kProof}, true);
  }

  void explain(const NumberedQuestion& asked, const std::stop_token& stop) {
    const Groundwork& ground = ground_of(asked.question);
    Answer answer;
    answer.why_not = does_not_fit(asked.question.options.limit_bytes, ground.smallest().bytes);
    board().tell(answer, asked, false);
    if (!limit_stays(asked, stop)) return;
    answer.why_not =
        planner::why_not(ground.problem_under(asked.question.options.limit_bytes), planner::kSecondsToLook);
    board().tell(answer, asked, true);
  }

  bool limit_stays(const NumberedQuestion& asked, const std::stop_token& stop) {
    std::unique_lock lock(board().mutex);
    const auto overtaken = [&] { return board().number != asked.number; };
    return !board().wake.wait_for(lock, stop, kLimitAtRest, overtaken) && !stop.stop_requested();
  }

  void go_on(const FrontierJob& job) {
    FoundFrontier told{job.question, {}, false, {}};
    try {
      const Groundwork& ground = ground_of(job.question);
      told.complete = !add_point(ground, job.points);
      told.points = ground.found().points();
    } catch (const std::exception& error) {
      told.failure = QString::fromStdString(error.what());
      told.complete = true;
    }
    if (told.complete) {
      const std::lock_guard lock(board().mutex);
      if (board().frontier && board().frontier->number == job.number) board().frontier.reset();
    } else if (Clock::now() - reported_ < kBetweenFrontiers) {
      return;
    }
    reported_ = Clock::now();
    board().tell(told, job.number);
  }

  /// False where nothing is left to be found out.
  static bool add_point(const Groundwork& ground, size_t most) {
    const std::vector<planner::FrontierPoint> points = ground.found().points();
    if (!points.empty() && !ground.found().smallest()) {
      ground.smallest();
      return true;
    }
    const std::optional<int64_t> limit = ground.found().next_limit();
    if (!limit || points.size() >= most) return false;
    const planner::ConfigurationSearch search = ground.search(*limit, kFrontierPoint);
    ground.found().add(*limit, search);  // not proven is better than nothing here
    return search.best.has_value();
  }

  Clock::time_point reported_{};
};

Replanner::Replanner(QObject* parent)
    : QObject(parent),
      board_(std::make_shared<Board>(*this)),
      quick_([board = board_](const std::stop_token& stop) { QuickWorker(board).run(stop); }),
      slow_([board = board_](const std::stop_token& stop) { SlowWorker(board).run(stop); }) {}

Replanner::~Replanner() {
  board_->link.cut();
  quick_.request_stop();  // both, before either is waited for
  slow_.request_stop();
}

bool Replanner::busy() const {
  return plan_open_ || frontier_open_;
}

void Replanner::ask(const PlanningQuestion& question) {
  {
    const std::lock_guard lock(board_->mutex);
    board_->asked = NumberedQuestion{question, ++board_->number};
    board_->unproven.reset();
    board_->refused.reset();
    board_->wake.notify_all();
  }
  setOpen(plan_open_, true);
}

void Replanner::askFrontier(const PlanningQuestion& question, int points) {
  {
    const std::lock_guard lock(board_->mutex);
    board_->frontier =
        FrontierJob{question, static_cast<size_t>(std::max(points, 2)), ++board_->frontier_number};
    board_->wake.notify_all();
  }
  setOpen(frontier_open_, true);
}

void Replanner::tell(const Answer& answer, quint64 number) {
  // Only this thread changes the number.
  if (number != board_->number) return;
  Q_EMIT answered(answer);
  // A slot of this signal may have asked again.
  if (answer.final && number == board_->number) setOpen(plan_open_, false);
}

void Replanner::tellFrontier(const FoundFrontier& found, quint64 number) {
  if (number != board_->frontier_number) return;
  Q_EMIT frontierFound(found);
  if (found.complete && number == board_->frontier_number) setOpen(frontier_open_, false);
}

void Replanner::setOpen(bool& open, bool now) {
  const bool before = busy();
  open = now;
  if (busy() != before) Q_EMIT busyChanged(busy());
}

}  // namespace headroom::gui
