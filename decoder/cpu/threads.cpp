#include "decoder/cpu/threads.h"

#include <omp.h>

#include <algorithm>
#include <exception>

namespace headroom {

int thread_count() {
  return omp_get_max_threads();
}

void set_thread_count(int threads) {
  omp_set_num_threads(std::max(1, threads));
}

int thread_number() {
  return omp_get_thread_num();
}

namespace detail {

void run_shares(int64_t begin, int64_t end, int64_t grain, void (*work)(const void*, int64_t, int64_t),
                const void* context) {
  if (begin >= end) return;
  const int64_t count = end - begin;
  if (count <= grain || count == 1 || omp_in_parallel() || thread_count() == 1)
    return work(context, begin, end);
  std::exception_ptr failure;
#pragma omp parallel
  {
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
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace detail
}  // namespace headroom
