#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

// The threads that share all work on the CPU. They are our own and not OpenMP's: its threads spin while they
// wait, which takes the processor from other programs and from threads that still work, and only the
// environment of the process can change that.
namespace headroom {

/// Threads that work is shared out to. By default OMP_NUM_THREADS, or one for each processor.
int thread_count();
/// At least 1. Holds for calls from this thread.
void set_thread_count(int threads);
/// Starts the threads. Throws DeviceError where the system does not start that many.
void require_threads();
/// The share that the calling thread works on, from 0, inside parallel_for(); 0 outside. No two threads work
/// on a share, and share 0 is always the caller's.
int thread_number();
/// Returns once `value` is no longer `seen`. Spins for some tens of microseconds, then sleeps: whoever
/// changes the value calls notify_all().
void wait_while(const std::atomic<int>& value, int seen);

namespace detail {
/// Calls work(context, begin, end) for the shares of [begin, end). The first exception is thrown again once
/// all are done.
void run_shares(int64_t begin, int64_t end, int64_t grain, void (*work)(const void*, int64_t, int64_t),
                const void* context);
}  // namespace detail

/// Calls f(b, e) for disjoint intervals that together are [begin, end), one for each thread and none shorter
/// than `grain` where there are several. They depend on the number of threads and nothing else. A thread that
/// is done takes over shares that no other has begun, so that nobody waits for a thread that does not get a
/// processor. Calls inside another run on the thread that makes them.
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  detail::run_shares(
      begin, end, grain,
      [](const void* context, int64_t b, int64_t e) { (*static_cast<const F*>(context))(b, e); }, &f);
}

}  // namespace headroom
