#include "decoder/cpu/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "decoder/base/axes.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process.h"

namespace headroom {
namespace {

/// A waiting thread spins this long before it sleeps. The next loop of a decode often starts sooner than a
/// sleeping thread wakes up. Spinning longer would take the processor from other programs and from our own
/// threads.
constexpr std::chrono::microseconds kSpin{40};

/// The share that this thread works on; -1 outside parallel_for().
thread_local int share_number = -1;
/// 0 where set_thread_count() was not called.
thread_local int chosen_threads = 0;

/// A loop that is shared out. It lives on the stack of the thread that makes the call.
class Loop {
 public:
  Loop(Interval all, int64_t shares, void (*work)(const void*, int64_t, int64_t), const void* context)
      : all_(all),
        length_((all.length() + shares - 1) / shares),
        work_(work),
        context_(context),
        threads_(thread_count()) {
    shares_ = static_cast<int>((all.length() + length_ - 1) / length_);
  }
  int shares() const { return shares_; }
  bool has_shares_left() const { return next_.load(std::memory_order_relaxed) < shares_; }
  void run_first() { run(0); }
  /// Runs shares that nobody has begun.
  void run_others() {
    for (int share = next_++; share < shares_; share = next_++) run(share);
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  std::atomic<int> helpers{0};  ///< pool threads that work on this loop

 private:
  void run(int share) {
    share_number = share;
    chosen_threads = threads_;
    const int64_t first = all_.begin + share * length_;
    try {
      work_(context_, first, std::min(all_.end, first + length_));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    share_number = -1;
  }

  const Interval all_;
  const int64_t length_;  ///< of a share
  void (*const work_)(const void*, int64_t, int64_t);
  const void* const context_;
  const int threads_;  ///< of the caller
  int shares_ = 0;
  std::atomic<int> next_{1};  ///< the first is the calling thread's
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// Worker threads for all callers of parallel_for(). They live as long as the process and are never joined.
class Pool {
 public:
  /// Starts threads until there are `threads`. Throws std::system_error where the system starts no more.
  void start(int threads) {
    const std::lock_guard lock(starting_);
    while (threads_ < threads) {
      std::thread([this] { help(); }).detach();
      ++threads_;
    }
  }
  int threads() const { return threads_; }

  void run(Loop& loop) {
    {
      const std::lock_guard lock(mutex_);
      loops_.push_back(&loop);
    }
    wake(loop.shares() - 1);
    loop.run_first();
    loop.run_others();
    {
      const std::lock_guard lock(mutex_);
      std::erase(loops_, &loop);
    }
    for (int seen = left_; loop.helpers > 0; seen = left_) wait_while(left_, seen);
  }

 private:
  void wake(int threads) {
    ++posted_;
    if (threads >= threads_) return posted_.notify_all();
    for (int i = 0; i < threads; ++i) posted_.notify_one();
  }

  [[noreturn]] void help() {
    while (true) {
      const int seen = posted_;
      if (Loop* loop = enter_some()) {
        loop->run_others();
        --loop->helpers;  // the loop may be gone from here on
        ++left_;
        left_.notify_all();
      } else {
        wait_while(posted_, seen);
      }
    }
  }

  Loop* enter_some() {
    const std::lock_guard lock(mutex_);
    for (Loop* loop : loops_) {
      if (!loop->has_shares_left()) continue;
      ++loop->helpers;
      return loop;
    }
    return nullptr;
  }

  std::mutex starting_, mutex_;
  std::vector<Loop*> loops_;    ///< that are running
  std::atomic<int> posted_{0};  ///< counts loops
  std::atomic<int> left_{0};    ///< counts threads that have left a loop
  std::atomic<int> threads_{0};
};

std::atomic<Pool*> pool{nullptr};

/// A child of fork() has none of its parent's threads, and its parent's pool may be in any state.
[[maybe_unused]] const bool forgets_in_child = call_in_children([] { pool = nullptr; });

Pool& the_pool() {
  Pool* known = pool;
  if (known != nullptr) return *known;
  auto made = std::make_unique<Pool>();
  if (!pool.compare_exchange_strong(known, made.get())) return *known;
  return *made.release();
}

int default_threads() {
  const char* asked = std::getenv("OMP_NUM_THREADS");
  const int threads = asked != nullptr ? std::atoi(asked) : 0;
  return threads > 0 ? threads : allowed_processors();
}

}  // namespace

int thread_count() {
  static const int by_default = default_threads();
  return chosen_threads > 0 ? chosen_threads : by_default;
}

void set_thread_count(int threads) {
  chosen_threads = std::max(1, threads);
}

void require_threads() {
  const int wanted = thread_count();
  if (wanted == 1) return;
  try {
    the_pool().start(wanted - 1);
  } catch (const std::system_error&) {
    const std::string most = std::to_string(the_pool().threads() + 1);
    throw DeviceError("the system starts " + most + " of " + std::to_string(wanted) + " threads (--threads " +
                      most + " takes no more)");
  }
}

int thread_number() {
  return std::max(0, share_number);
}

void wait_while(const std::atomic<int>& value, int seen) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (value.load(std::memory_order_acquire) != seen) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  value.wait(seen, std::memory_order_acquire);
}

namespace detail {

void run_shares(int64_t begin, int64_t end, int64_t grain, void (*work)(const void*, int64_t, int64_t),
                const void* context) {
  if (begin >= end) return;
  const int64_t count = end - begin, least = std::max<int64_t>(1, grain);
  const int64_t shares = std::min<int64_t>(thread_count(), (count + least - 1) / least);
  if (shares == 1 || share_number >= 0) return work(context, begin, end);
  Loop loop({begin, end}, shares, work, context);
  try {
    the_pool().start(loop.shares() - 1);
  } catch (const std::system_error&) {
    // Fewer threads run all shares as well.
  }
  the_pool().run(loop);
  loop.rethrow();
}

}  // namespace detail
}  // namespace headroom
