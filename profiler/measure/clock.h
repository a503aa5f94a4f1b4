#pragma once

#include <chrono>
#include <functional>

namespace headroom::profiler {

/// Monotonic clock, in seconds since an arbitrary origin.
using Clock = std::function<double()>;

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace headroom::profiler
