#include "decoder/exchange/c10d/rank_board.h"

#include <ctime>
#include <utility>

#include "decoder/base/text.h"
#include "decoder/exchange/exchange.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLines{150};
constexpr std::chrono::milliseconds kBetweenLooks{20};
constexpr std::chrono::seconds kPatience{1};
constexpr const char* kFailure = "failure";
/// A process that uses a larger share of one processor is computing. A stalled or waiting one uses less.
constexpr double kComputingShare = 0.05;

std::string line_of(int32_t rank) {
  return "rank/" + std::to_string(rank);
}

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::optional<std::string> read_failure(c10d::Store& store) {
  if (!store.check({kFailure})) return std::nullopt;
  return store.get_to_str(kFailure);
}

/// CPU time of all threads of this process.
double processor_seconds() {
  timespec taken{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
  return double(taken.tv_sec) + double(taken.tv_nsec) * 1e-9;
}

/// Detects computation by the CPU time that the process used since the previous call.
class Computing {
 public:
  bool since_last() {
    const Clock::time_point now = Clock::now();
    const double taken = processor_seconds();
    const double share = (taken - taken_) / RankBoard::Seconds(now - at_).count();
    at_ = now;
    taken_ = taken;
    return share > kComputingShare;
  }

 private:
  Clock::time_point at_ = Clock::now();
  double taken_ = processor_seconds();
};

/// "rank 1", "ranks 1, 2 and 5".
std::string named(const std::vector<int32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

/// Blocks until all ranks have written their lines.
void meet(c10d::Store& store, int32_t size, RankBoard::Seconds timeout, const std::function<void()>& check) {
  const Clock::time_point begin = Clock::now();
  std::vector<int32_t> missing(static_cast<size_t>(size));
  for (int32_t rank = 0; rank < size; ++rank) missing[static_cast<size_t>(rank)] = rank;
  while (true) {
    std::erase_if(missing, [&](int32_t rank) { return store.check({line_of(rank)}); });
    if (missing.empty()) return;
    check();
    if (const std::optional<std::string> failure = read_failure(store)) throw ExchangeError(*failure);
    if (Clock::now() - begin > timeout) {
      TextWriter line;
      line << named(missing) << " of " << size << " did not come within " << timeout.count() << " s";
      // Another rank may already have written a failure. Then this returns the earlier one.
      throw ExchangeError(store.compareSet(kFailure, std::string(), line.str()));
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

struct RankBoard::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  c10::intrusive_ptr<c10d::Store> store;
  int32_t rank = 0;
  RankState own;
  std::vector<RankState> states;
  std::optional<std::string> failure;
  std::optional<std::string> to_fail;
  int64_t asked = 0, answered = 0;
  Clock::time_point answered_at;
  bool stop = false, lost = false, ended = false;
};

RankBoard::RankBoard(c10::intrusive_ptr<c10d::Store> store, int32_t rank, int32_t size, Seconds timeout,
                     const std::function<void()>& check)
    : shared_(std::make_shared<Shared>()) {
  shared_->store = std::move(store);
  shared_->rank = rank;
  shared_->states.resize(static_cast<size_t>(size));
  shared_->answered_at = Clock::now();
  shared_->store->set(line_of(rank), bytes_of(state_text(shared_->own)));
  meet(*shared_->store, size, timeout, check);
  thread_ = std::thread([shared = shared_] { talk(shared); });
}

RankBoard::~RankBoard() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, kPatience, [&] { return shared_->ended; });
  lock.unlock();
  // A stopped store may never answer. Then the thread is detached.
  if (ended)
    thread_.join();
  else
    thread_.detach();
}

void RankBoard::talk(const std::shared_ptr<Shared>& shared) {
  Computing computing;
  std::unique_lock lock(shared->mutex);
  for (bool last = false; !last && !shared->lost;) {
    last = shared->stop;
    ++shared->own.beat;
    // A step may take longer than the timeout, so CPU time counts as work. A rank that waits for others
    // computes nothing that they wait for.
    if (computing.since_last() && shared->own.waits_for < 0) ++shared->own.work;
    const std::string own = state_text(shared->own);
    const std::optional<std::string> to_fail = std::exchange(shared->to_fail, std::nullopt);
    const int64_t asked = ++shared->asked;
    std::vector<std::string> lines;
    for (size_t i = 0; i < shared->states.size(); ++i) lines.push_back(line_of(static_cast<int32_t>(i)));
    lock.unlock();
    std::optional<std::string> failure;
    std::vector<RankState> states;
    bool lost = false;
    try {
      c10d::Store& store = *shared->store;
      store.set(line_of(shared->rank), bytes_of(own));
      if (to_fail) store.compareSet(kFailure, std::string(), *to_fail);
      failure = read_failure(store);
      for (const std::vector<uint8_t>& line : store.multiGet(lines))
        states.push_back(state_of({line.begin(), line.end()}));
    } catch (const std::exception&) {
      lost = true;  // the process with the store has ended
    }
    lock.lock();
    shared->lost = lost;
    if (!lost) {
      shared->failure = failure;
      shared->states = std::move(states);
      shared->answered_at = Clock::now();
    }
    shared->answered = asked;
    shared->changed.notify_all();
    if (last || lost) break;
    shared->changed.wait_for(lock, kBetweenLines, [&] { return shared->stop || shared->asked > asked; });
  }
  shared->ended = true;
  shared->changed.notify_all();
}

void RankBoard::tell(int32_t waits_for, bool left) {
  const std::lock_guard lock(shared_->mutex);
  shared_->own.waits_for = waits_for;
  shared_->own.left = left;
}

void RankBoard::count_work() {
  const std::lock_guard lock(shared_->mutex);
  ++shared_->own.work;
}

RankBoard::View RankBoard::view() const {
  const std::lock_guard lock(shared_->mutex);
  return {shared_->states, shared_->failure, shared_->lost,
          Seconds(Clock::now() - shared_->answered_at).count()};
}

void RankBoard::ask_again() {
  std::unique_lock lock(shared_->mutex);
  if (shared_->ended) return;
  // A request under way may have read the store before this call, so wait for the one after it.
  const int64_t wanted = shared_->asked + 1;
  shared_->asked = wanted;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience, [&] { return shared_->ended || shared_->answered > wanted; });
}

std::string RankBoard::fail(const std::string& line) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->failure) return *shared_->failure;
    shared_->to_fail = line;
  }
  ask_again();
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure.value_or(line);
}

std::optional<std::string> RankBoard::failure_now() {
  ask_again();
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

}  // namespace headroom
