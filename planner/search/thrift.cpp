#include "planner/search/thrift.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headroom::planner {
namespace {

constexpr double kPerDoubling = 8;
constexpr double kMostDoublings = 62;  // fits 64 bits

}  // namespace

int limit_step_of(int64_t bytes) {
  const int step = static_cast<int>(std::log2(double(bytes)) * kPerDoubling) + 1;
  return limit_at(step) <= bytes ? step : limit_at(step - 1) <= bytes ? step - 1 : step - 2;
}

int64_t limit_at(int step) {
  return static_cast<int64_t>(std::exp2(std::min(step / kPerDoubling, kMostDoublings)));
}

ConfigurationSearch::Best thrifty_over(const Spaces& spaces, const Request& request,
                                       const ConfigurationSearch::Best& fastest, double share,
                                       Deadline deadline) {
  ConfigurationSearch::Best best = fastest;
  if (share <= 0) return best;
  const double most_seconds = fastest.seconds * (1 + share);
  // The largest limit of the scale that is too small for the best plan so far.
  const auto below = [&] { return limit_step_of(best.solution.peak_bytes - 1); };
  const auto fits = [&](int step) {
    ConfigurationSearch found = fastest_with(fastest.configuration.weights, spaces, request, limit_at(step),
                                             {.deadline = deadline, .cutoff_seconds = most_seconds});
    if (found.best) best = std::move(*found.best);
    return found.best.has_value();
  };
  // Strides double until a limit is too small. Then the search bisects.
  int untried = below(), too_small = 0;
  for (int stride = 1; untried > too_small; stride *= 2) {
    const int step = std::max(0, untried + 1 - stride);
    if (!fits(step)) {
      too_small = step;
      break;
    }
    untried = below();
  }
  while (untried > too_small) {
    const int middle = untried - (untried - too_small - 1) / 2;
    if (fits(middle))
      untried = below();
    else
      too_small = middle;
  }
  return best;
}

}  // namespace headroom::planner
