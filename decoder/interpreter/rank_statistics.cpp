#include "decoder/interpreter/rank_statistics.h"

#include <algorithm>
#include <functional>

#include "decoder/base/moments.h"

namespace headroom {

std::vector<double> merged_moments(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> values(a.size());
  for (size_t i = 0; i + 2 < a.size(); i += 3) {
    const Moments of_both = merged(Moments{a[i], a[i + 1], a[i + 2]}, Moments{b[i], b[i + 1], b[i + 2]});
    values[i] = of_both.count;
    values[i + 1] = of_both.mean;
    values[i + 2] = of_both.m2;
  }
  return values;
}

std::vector<double> summed(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> values(a.size());
  std::transform(a.begin(), a.end(), b.begin(), values.begin(), std::plus<>());
  return values;
}

}  // namespace headroom
