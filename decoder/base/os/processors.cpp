#include "decoder/base/os/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <limits>

#include "decoder/base/os/control_groups.h"

namespace headroom {
namespace {

std::atomic<int> asked_threads{std::numeric_limits<int>::max()};

}  // namespace

int allowed_processors() {
  // The kernel requires a set at least as large as its own, so try larger ones.
  for (int most = CPU_SETSIZE; most <= (1 << 20); most *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(most));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(most));
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int error = errno;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(1, count);
    if (error != EINVAL) break;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

int useful_threads(int allowed, double quota_processors) {
  const double whole = std::ceil(quota_processors);
  return whole < allowed ? std::max(1, static_cast<int>(whole)) : std::max(1, allowed);
}

int useful_threads() {
  return useful_threads(allowed_processors(),
                        own_control_groups().processors.value_or(std::numeric_limits<double>::infinity()));
}

int helper_threads() {
  static const int useful = useful_threads();
  return std::min(useful, asked_threads.load());
}

void limit_helper_threads(int most) {
  asked_threads = std::max(1, most);
}

}  // namespace headroom
