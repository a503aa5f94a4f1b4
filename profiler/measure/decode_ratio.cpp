#include "profiler/measure/decode_ratio.h"

#include <algorithm>
#include <cmath>

namespace headroom::profiler {
namespace {

constexpr double kInCaches = 1.0 / 16;  // of the smallest decode
constexpr double kMostRatio = 1.5;      // what is further off is no matter of caches

/// Between two decodes, or below the smallest.
double ratio_at(double positions, const std::vector<DecodeRatio>& ratios) {
  DecodeRatio below{ratios.front().positions * kInCaches, 1};
  if (positions <= below.positions) return below.ratio;
  for (const DecodeRatio& above : ratios) {
    if (positions < above.positions) {
      const double share =
          std::log(positions / below.positions) / std::log(above.positions / below.positions);
      return below.ratio + share * (above.ratio - below.ratio);
    }
    below = above;
  }
  return below.ratio;
}

}  // namespace

void meet_ratios(LatencyTable& table, const std::vector<DecodeRatio>& ratios) {
  const double of_latent = ratios.back().positions / double(table.most_positions());
  for (size_t i = 0; i < table.seconds.size(); ++i) {
    const auto positions =
        double(table.rows[i / table.columns.size()] * table.columns[i % table.columns.size()]);
    table.seconds[i] *= std::clamp(ratio_at(positions * of_latent, ratios), 1 / kMostRatio, kMostRatio);
  }
  make_monotone(table);
}

}  // namespace headroom::profiler
