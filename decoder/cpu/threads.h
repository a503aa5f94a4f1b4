#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

// The threads that share all work on the CPU. They are our own and not OpenMP's: its threads spin while they
// wait, which takes the processor from other programs and from threads that still work, and only the
// environment of the process can change that.
namespace headroom {

/// Number of threads that share the work. Default: OMP_NUM_THREADS, or one per processor.
int thread_count();
/// Sets the number of threads, at least 1, for calls from this thread.
void set_thread_count(int threads);
/// Starts the threads. Throws DeviceError where the system does not start that many.
void require_threads();
/// Index of the share that the calling thread works on inside parallel_for(); 0 outside. Each share runs on
/// one thread. Share 0 always runs on the caller.
int thread_number();
/// Returns once `value` is no longer `seen`. Spins for some tens of microseconds, then sleeps. A thread that
/// changes the value must call notify_all().
void wait_while(const std::atomic<int>& value, int seen);

namespace detail {
/// Calls work(context, begin, end) for the shares of [begin, end). Rethrows the first exception once all
/// shares are done.
void run_shares(int64_t begin, int64_t end, int64_t grain, void (*work)(const void*, int64_t, int64_t),
                const void* context);
}  // namespace detail

/// Splits [begin, end) into intervals and calls f(b, e) for each. There is at most one per thread, and at
/// most one per `grain` elements, rounded up. The split depends on the arguments and the number of threads
/// alone. A thread that is done takes over shares that have not begun, so that no loop waits for a
/// descheduled thread. Nested calls run on the calling thread.
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  detail::run_shares(
      begin, end, grain,
      [](const void* context, int64_t b, int64_t e) { (*static_cast<const F*>(context))(b, e); }, &f);
}

}  // namespace headroom
