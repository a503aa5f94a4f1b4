#include "decoder/cpu/threads.h"

#include <omp.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "decoder/graph/errors.h"

// OpenMP's runtime is not compiled for ThreadSanitizer, which does not see how it orders what is before, in
// and after a parallel region. It is told, and the region's own variables, which the runtime hands over, are
// left out.
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define HEADROOM_NOT_WATCHED __attribute__((no_sanitize("thread")))
#define HEADROOM_COMES_AFTER(place) __tsan_acquire(place)
#define HEADROOM_COMES_BEFORE(place) __tsan_release(place)
#else
#define HEADROOM_NOT_WATCHED
#define HEADROOM_COMES_AFTER(place)
#define HEADROOM_COMES_BEFORE(place)
#endif

namespace headroom {

int thread_count() {
  return omp_get_max_threads();
}

void set_thread_count(int threads) {
  omp_set_num_threads(std::max(1, threads));
}

void require_threads() {
  std::mutex mutex;
  std::condition_variable changed;
  bool all_there = false;
  const auto wanted = static_cast<size_t>(thread_count());
  std::vector<std::thread> started;
  started.reserve(wanted);
  const auto end = [&] {
    {
      const std::lock_guard lock(mutex);
      all_there = true;
    }
    changed.notify_all();
    for (std::thread& thread : started) thread.join();
  };
  try {
    while (started.size() + 1 < wanted) {
      started.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return all_there; });
      });
    }
  } catch (const std::system_error&) {
    const std::string least = std::to_string(started.size() + 1);
    end();
    throw DeviceError("the system starts " + least + " of " + std::to_string(wanted) +
                      " threads (--threads " + least + " takes no more)");
  } catch (...) {
    end();
    throw;
  }
  end();
}

int thread_number() {
  return omp_get_thread_num();
}

namespace detail {

HEADROOM_NOT_WATCHED
void run_shares(int64_t begin, int64_t end, int64_t grain, void (*work)(const void*, int64_t, int64_t),
                const void* context) {
  if (begin >= end) return;
  const int64_t count = end - begin;
  if (count <= grain || count == 1 || omp_in_parallel() || thread_count() == 1)
    return work(context, begin, end);
  std::exception_ptr failure;
  [[maybe_unused]] char region_begins = 0, region_ends = 0;
  HEADROOM_COMES_BEFORE(&region_begins);
#pragma omp parallel
  {
    HEADROOM_COMES_AFTER(&region_begins);
    const int64_t most = (count + std::max<int64_t>(1, grain) - 1) / std::max<int64_t>(1, grain);
    const int64_t shares = std::min<int64_t>(omp_get_num_threads(), most);
    const int64_t share = (count + shares - 1) / shares;
    const int64_t first = begin + omp_get_thread_num() * share;
    if (omp_get_thread_num() < shares && first < end) {
      try {
        work(context, first, std::min(end, first + share));
      } catch (...) {
#pragma omp critical(headroom_failure)
        if (!failure) failure = std::current_exception();
      }
    }
    HEADROOM_COMES_BEFORE(&region_ends);
  }
  HEADROOM_COMES_AFTER(&region_ends);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace detail
}  // namespace headroom
