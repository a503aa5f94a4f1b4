#include "decoder/exchange/c10d/c10d_exchange.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdlib>

#include "decoder/base/os/network.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/standard_streams.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenVerdicts{50};
/// Time that the rank with the store stays, so that others can read the failure.
constexpr double kFarewellSeconds = 1.5;
/// A live rank's beat increases within this time.
constexpr std::chrono::milliseconds kBeatsLast{1000};

double seconds_now() {
  return RankBoard::Seconds(Clock::now().time_since_epoch()).count();
}

c10::intrusive_ptr<c10d::Store> open_tcp_store(const ExchangeOptions& options) {
  const RankEnvironment& ranks = options.ranks;
  c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(ranks.port);
  store.isServer = ranks.rank == 0 && !ranks.store_is_there;
  store.waitWorkers = false;  // the board reports missing ranks
  store.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.timeout_seconds * 1000));
  // By default, the store listens on all addresses of the machine.
  if (store.isServer) {
    const int bound = socket_bound_to(ranks.address, store.port);
    if (bound >= 0) store.masterListenFd = bound;
  }
  return c10::make_intrusive<c10d::TCPStore>(ranks.address, store);
}

c10::intrusive_ptr<c10d::Store> open_file_store(const RankEnvironment& ranks) {
  make_private_file(ranks.store_file);
  return c10::make_intrusive<c10d::FileStore>(ranks.store_file, ranks.ranks);
}

std::string failed_to_meet(const RankEnvironment& ranks) {
  if (!ranks.store_file.empty()) return "ranks cannot meet in " + ranks.store_file;
  const bool receives = ranks.rank == 0 && !ranks.store_is_there;
  return (receives ? "rank 0 cannot receive the other ranks at " : "cannot reach rank 0 at ") +
         ranks.address + ":" + std::to_string(ranks.port);
}

c10::intrusive_ptr<c10d::Store> open_store(const ExchangeOptions& options) {
  const RankEnvironment& ranks = options.ranks;
  try {
    const auto all = c10::make_intrusive<c10d::PrefixStore>(
        ranks.store_prefix + "/headroom",
        ranks.store_file.empty() ? open_tcp_store(options) : open_file_store(ranks));
    // A store may outlive this program and serve several runs. So each rank counts its runs, and ranks with
    // the same count meet.
    const int64_t run = all->add("runs of rank " + std::to_string(ranks.rank), 1);
    return c10::make_intrusive<c10d::PrefixStore>(std::to_string(run), all);
  } catch (const std::exception& error) {
    throw ExchangeError(failed_to_meet(ranks) + ": " + one_line(error));
  }
}

}  // namespace

std::string one_line(const std::exception& error) {
  const auto* const c10_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = c10_error != nullptr ? c10_error->what_without_backtrace() : error.what();
  if (text.starts_with("[/")) text.erase(0, text.find("] ") + 2);  // source location
  return text.substr(0, text.find('\n'));
}

C10dExchange::C10dExchange(const ExchangeOptions& options) : options_(options) {
  // Gloo may write to a closed connection. It reports that as an error, so SIGPIPE must not end the program.
  ignore_closed_pipes();
  // c10d logs a warning for every connection attempt and every closed connection. Real errors are thrown.
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  c10::initLogging();
  store_ = open_store(options_);
  try {
    board_ =
        std::make_unique<RankBoard>(store_->clone(), rank(), size(), timeout(), options_.check_while_meeting);
  } catch (const ExchangeError&) {
    if (keeps_store()) std::this_thread::sleep_for(RankBoard::Seconds(kFarewellSeconds));
    throw;
  } catch (const std::exception& error) {
    throw ExchangeError(store_keeper() + " has ended: " + one_line(error));
  }
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

bool C10dExchange::keeps_store() const {
  return rank() == 0 && !options_.ranks.store_is_there && options_.ranks.store_file.empty();
}

std::string C10dExchange::store_keeper() const {
  if (!options_.ranks.store_file.empty()) return "the store in " + options_.ranks.store_file;
  if (!options_.ranks.store_is_there) return "rank 0";
  return "torchrun at " + options_.ranks.address;
}

/// Reason to stop the current wait. Call it with mutex_ held.
std::optional<std::string> C10dExchange::verdict() {
  const RankBoard::View view = board_->view();
  if (view.failure) return view.failure;
  if (view.lost) return store_keeper() + " has ended";
  if (view.silent_seconds > options_.timeout_seconds) {
    TextWriter line;
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
  if (failure) fail(*failure);
  fail_with(peer, error);
}

/// Handles a closed connection to the peer. The peer may have seen another rank's failure first, so look for
/// one.
void C10dExchange::fail_with(int32_t peer, const std::string& error) {
  const std::optional<std::string> failure = board_->failure_now();
  if (failure) fail(*failure);
  if (board_->view().lost) fail(store_keeper() + " has ended");
  fail("rank " + std::to_string(peer) + " has ended" + (error.empty() ? "" : " (" + error + ")"));
}

void C10dExchange::fail_to_open(const std::exception& error) {
  std::string line = "rank " + std::to_string(rank()) + " cannot connect to the others: " + one_line(error);
  try {
    // c10d does not name the missing rank. That rank's beat has stopped.
    const std::vector<RankState> before = board_->view().states;
    std::this_thread::sleep_for(kBeatsLast);
    const std::vector<RankState> after = board_->view().states;
    for (size_t i = 0; i < after.size(); ++i) {
      if (static_cast<int32_t>(i) != rank() && after[i].beat == before[i].beat && !board_->view().lost)
        line = "rank " + std::to_string(i) + " ended while ranks connected";
    }
    fail(line);
  } catch (const ExchangeError& first) {
    line = first.what();
  }
  leave();
  throw ExchangeError(line);
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
  fail_with(peer, error);
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
  drop();
  throw ExchangeError(first);
}

void C10dExchange::abandon(const char* why) noexcept {
  try {
    const std::string line = board_->fail("rank " + std::to_string(rank()) + " ended: " + why);
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = line;
  } catch (const std::exception&) {
    // Out of memory, or the store is gone. Other ranks will see closed connections.
  }
  drop();
}

void C10dExchange::leave() noexcept {
  try {
    board_->tell(-1, true);
    const double begin = seconds_now();
    std::vector<Beat> beats(static_cast<size_t>(size()), {-1, begin});
    while (!may_leave(board_->view(), beats, seconds_now())) {
      if (has_failed() && (!keeps_store() || seconds_now() - begin > kFarewellSeconds)) return;
      std::this_thread::sleep_for(kBetweenVerdicts);
    }
  } catch (const std::exception&) {
    // Out of memory: leave at once.
  }
}

/// True if all other ranks have left, if one of them has ended without leaving, or if the store is gone.
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
