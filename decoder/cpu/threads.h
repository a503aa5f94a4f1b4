#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

// The threads that all work on the CPU is shared out to: OpenMP's, since they stay warm from one step to the
// next and are shared with whatever else of the process uses OpenMP.
namespace headroom {

/// Threads that work is shared out to.
int thread_count();
/// At least 1. Holds for calls from this thread.
void set_thread_count(int threads);
/// Throws DeviceError where the system does not start that many threads: OpenMP would end the process.
void require_threads();
/// Of the calling thread, from 0, inside parallel_for(); 0 outside.
int thread_number();

namespace detail {
/// Calls work(context, begin, end) for the shares of [begin, end). The first exception is thrown again once
/// all are done.
void run_shares(int64_t begin, int64_t end, int64_t grain, void (*work)(const void*, int64_t, int64_t),
                const void* context);
}  // namespace detail

/// Calls f(b, e) for disjoint intervals that together are [begin, end), one on each thread and none shorter
/// than `grain` where there are several. They depend on the number of threads and nothing else. Calls inside
/// another run on the thread that makes them.
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  detail::run_shares(
      begin, end, grain,
      [](const void* context, int64_t b, int64_t e) { (*static_cast<const F*>(context))(b, e); }, &f);
}

}  // namespace headroom
