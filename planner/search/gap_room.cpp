#include "planner/search/gap_room.h"

#include <algorithm>

namespace headroom::planner {

std::vector<size_t> crowded_passes(const PlacedBytes& placed, int64_t limit_bytes) {
  std::vector<size_t> beyond, crowded;
  for (size_t pass = 0; pass < placed.live.size(); ++pass) {
    const int64_t over = placed.reserved[pass] - limit_bytes;
    if (over <= 0) continue;
    beyond.push_back(pass);
    // A pass with much free memory does not cause the overrun.
    if (limit_bytes - placed.live[pass] <= over) crowded.push_back(pass);
  }
  if (!crowded.empty() || beyond.empty()) return crowded;
  return {*std::max_element(beyond.begin(), beyond.end(),
                            [&](size_t a, size_t b) { return placed.live[a] < placed.live[b]; })};
}

HeldBack narrowed(HeldBack held_back, const std::vector<size_t>& passes, const PlacedBytes& placed,
                  int64_t limit_bytes, double share) {
  for (const size_t pass : passes) {
    const auto less = static_cast<int64_t>(double(placed.reserved[pass] - limit_bytes) * share);
    held_back[pass] = std::max(held_back[pass], limit_bytes - placed.live[pass] + std::max<int64_t>(1, less));
  }
  return held_back;
}

}  // namespace headroom::planner
