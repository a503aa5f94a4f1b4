#include "decoder/gpu/cuda/library_calls/fastest_engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace headroom::gpu {
namespace {

constexpr int kRounds = 6;
/// Engines slower than this multiple of the fastest are timed once.
constexpr double kClearlySlower = 1.2;
/// Gains below this share may be noise.
constexpr double kLeastGain = 0.02;
/// Shorter measurements are dominated by the cost of starting work.
constexpr double kLeastSeconds = 300e-6;
constexpr int kMostRuns = 32;

}  // namespace

FastestEngine fastest_engine(size_t count, const std::function<double(size_t engine, int runs)>& time) {
  for (size_t i = 0; i < count; ++i) time(i, 1);  // libraries load kernels on their first run
  const double once = std::max(time(0, 1), 1e-9);
  const int runs = static_cast<int>(std::clamp(std::ceil(kLeastSeconds / once), 1.0, double{kMostRuns}));
  std::vector<double> seconds(count, std::numeric_limits<double>::infinity());
  double fastest = seconds.front();
  for (int round = 0; round < kRounds; ++round) {
    const double limit = kClearlySlower * fastest;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0 && round > 0 && seconds[i] > limit) continue;
      seconds[i] = std::min(seconds[i], time(i, runs));
      fastest = std::min(fastest, seconds[i]);
    }
  }
  const auto best = std::min_element(seconds.begin(), seconds.end());
  const bool faster = *best < (1 - kLeastGain) * seconds.front();
  return {faster ? static_cast<size_t>(best - seconds.begin()) : 0, faster ? *best : seconds.front(),
          seconds.front()};
}

}  // namespace headroom::gpu
