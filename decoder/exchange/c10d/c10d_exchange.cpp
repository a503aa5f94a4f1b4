#include "decoder/exchange/c10d/c10d_exchange.h"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <csignal>
#include <sstream>

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenVerdicts{50};
/// So long a rank that keeps the store waits for others to read why it fails.
constexpr double kFarewellSeconds = 1.5;

double seconds_now() {
  return RankBoard::Seconds(Clock::now().time_since_epoch()).count();
}

c10::intrusive_ptr<c10d::Store> open_store(const ExchangeOptions& options) {
  const RankEnvironment& ranks = options.ranks;
  c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(ranks.port);
  store.isServer = ranks.rank == 0 && !ranks.store_is_there;
  store.waitWorkers = false;  // the board says who is missing
  store.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.timeout_seconds * 1000));
  const std::string at = ranks.address + ":" + std::to_string(ranks.port);
  try {
    return c10::make_intrusive<c10d::PrefixStore>(ranks.store_prefix + "/headroom",
                                                  c10::make_intrusive<c10d::TCPStore>(ranks.address, store));
  } catch (const std::exception& error) {
    throw ExchangeError(
        (store.isServer ? "rank 0 cannot receive the other ranks at " : "cannot reach rank 0 at ") + at +
        ": " + one_line(error));
  }
}

}  // namespace

std::string one_line(const std::exception& error) {
  const auto* const c10_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = c10_error != nullptr ? c10_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

C10dExchange::C10dExchange(const ExchangeOptions& options) : options_(options) {
  // Gloo writes to connections whose other end may have gone. That is an error which it reports, not the end.
  if (std::signal(SIGPIPE, SIG_IGN) != SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
  store_ = open_store(options_);
  board_ = std::make_unique<RankBoard>(store_->clone(), rank(), size(), timeout());
  judge_ = std::thread([this] { judge(); });
}

C10dExchange::~C10dExchange() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
    changed_.notify_all();
  }
  judge_.join();
}

c10::intrusive_ptr<c10d::Store> C10dExchange::backend_store() const {
  return c10::make_intrusive<c10d::PrefixStore>("backend", store_);
}

std::string C10dExchange::store_keeper() const {
  if (!options_.ranks.store_is_there) return "rank 0";
  return options_.ranks.launcher + " at " + options_.ranks.address;
}

/// Why the wait that is under way is in vain. Called with mutex_ held.
std::optional<std::string> C10dExchange::verdict() {
  const RankBoard::View view = board_->view();
  if (view.failure) return view.failure;
  if (view.lost) return store_keeper() + " has ended";
  if (view.silent_seconds > options_.timeout_seconds) {
    std::ostringstream line;
    line << store_keeper() << " has shown no sign of life for " << options_.timeout_seconds << " s";
    return line.str();
  }
  return silence_->verdict(view.states, seconds_now());
}

void C10dExchange::judge() {
  std::unique_lock lock(mutex_);
  while (!end_) {
    if (silence_ && !failure_) failure_ = verdict();
    if (failure_ && stop_wait_ != nullptr) (*stop_wait_)();
    changed_.wait_for(lock, kBetweenVerdicts, [&] { return end_; });
  }
}

void C10dExchange::wait_for(int32_t peer, const std::function<bool()>& wait,
                            const std::function<void()>& stop) {
  require_no_failure();
  board_->count_work();
  board_->tell(peer);
  {
    const std::lock_guard lock(mutex_);
    silence_.emplace(rank(), peer, seconds_now(), options_.timeout_seconds);
    stop_wait_ = &stop;
  }
  bool done = false;
  std::string error;
  try {
    done = wait();
  } catch (const std::exception& thrown) {
    error = one_line(thrown);
  }
  std::optional<std::string> failure;
  {
    const std::lock_guard lock(mutex_);
    silence_.reset();
    stop_wait_ = nullptr;
    failure = failure_;
  }
  board_->tell(-1);
  if (done) return;
  if (!failure) failure = board_->failure_now();
  if (failure) fail(*failure);
  fail("rank " + std::to_string(peer) + " has ended" + (error.empty() ? "" : " (" + error + ")"));
}

void C10dExchange::attempt(int32_t peer, const std::function<void()>& body) {
  require_no_failure();
  board_->count_work();
  std::string error;
  try {
    return body();
  } catch (const std::exception& thrown) {
    error = one_line(thrown);
  }
  const std::optional<std::string> failure = board_->failure_now();
  fail(failure ? *failure : "rank " + std::to_string(peer) + " has ended (" + error + ")");
}

void C10dExchange::require_no_failure() {
  std::optional<std::string> failure;
  {
    const std::lock_guard lock(mutex_);
    failure = failure_;
  }
  if (!failure) failure = board_->view().failure;
  if (failure) fail(*failure);
}

void C10dExchange::fail(const std::string& line) {
  const std::string first = board_->fail(line);
  {
    const std::lock_guard lock(mutex_);
    failure_ = first;
  }
  drop_all();
  throw ExchangeError(first);
}

void C10dExchange::abandon(const char* why) noexcept {
  try {
    const std::string line = board_->fail("rank " + std::to_string(rank()) + " ended: " + why);
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = line;
  } catch (const std::exception&) {
    // Out of memory, or the store is gone: others see the connections close.
  }
  drop_all();
}

void C10dExchange::leave() noexcept {
  try {
    board_->tell(-1, true);
    const bool keeper = rank() == 0 && !options_.ranks.store_is_there;
    const double begin = seconds_now();
    std::vector<Beat> beats(static_cast<size_t>(size()), {-1, begin});
    while (!may_leave(board_->view(), beats, seconds_now())) {
      if (has_failed() && (!keeper || seconds_now() - begin > kFarewellSeconds)) return;
      std::this_thread::sleep_for(kBetweenVerdicts);
    }
  } catch (const std::exception&) {
    // Out of memory: it leaves at once.
  }
}

/// All others have left, or one that has not no longer lives.
bool C10dExchange::may_leave(const RankBoard::View& view, std::vector<Beat>& beats, double now) const {
  if (view.lost || view.silent_seconds > options_.timeout_seconds) return true;
  bool all_left = true;
  for (size_t i = 0; i < view.states.size(); ++i) {
    const RankState& state = view.states[i];
    if (state.beat != beats[i].beat) beats[i] = {state.beat, now};
    if (state.left || static_cast<int32_t>(i) == rank()) continue;
    if (now - beats[i].at > options_.timeout_seconds) return true;
    all_left = false;
  }
  return all_left;
}

bool C10dExchange::has_failed() {
  const std::lock_guard lock(mutex_);
  return failure_ || board_->view().failure;
}

}  // namespace headroom
