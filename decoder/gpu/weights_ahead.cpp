#include "decoder/gpu/weights_ahead.h"

#include <algorithm>

namespace headroom {
namespace {

struct Place {
  int64_t offset = 0, bytes = 0;

  bool meets(int64_t other_offset, int64_t other_bytes) const {
    return offset < other_offset + other_bytes && other_offset < offset + bytes;
  }
};

}  // namespace

std::vector<WeightsAhead> weights_ahead(const DryRun& dry_run) {
  const std::vector<int64_t> begins(dry_run.passes.begin(), dry_run.passes.end());
  std::vector<int64_t> free_from;
  std::vector<Place> places;
  for (const size_t begin : dry_run.passes) {
    // The weights are the first request of a pass. A pass without weights copies nothing to this place.
    const MemoryRequests::Event& weights = dry_run.requests.events()[begin];
    places.push_back({dry_run.placement.offsets[static_cast<size_t>(weights.number)], weights.bytes});
    free_from.push_back(free_from.empty() ? begins[0] : begins[free_from.size() - 1] + 1);
  }
  const std::vector<Buffer> ranges = live_ranges_of(dry_run.requests);
  for (const Stay& stay : stays_of(ranges, dry_run.placement)) {
    const int64_t bytes = ranges[static_cast<size_t>(stay.number)].bytes;
    // Passes that begin after this stay begins, as long as the stay overlaps the pass before.
    const auto first = std::upper_bound(begins.begin(), begins.end(), stay.begin) - begins.begin();
    for (auto pass = static_cast<size_t>(first); pass < begins.size(); ++pass) {
      if (pass > 0 && stay.end < begins[pass - 1]) break;
      if (places[pass].meets(stay.offset, bytes))
        free_from[pass] = std::max(free_from[pass], std::min(stay.end, begins[pass] - 1) + 1);
    }
  }
  // A move at the start of a pass may temporarily place a block where the pass's weights will lie.
  for (const Move& move : dry_run.placement.moves) {
    const auto pass = static_cast<size_t>(
        std::lower_bound(dry_run.passes.begin(), dry_run.passes.end(), move.event) - dry_run.passes.begin());
    if (pass < begins.size() && dry_run.passes[pass] == move.event && places[pass].meets(move.to, move.bytes))
      free_from[pass] = begins[pass];
  }
  std::vector<WeightsAhead> ahead;
  for (size_t pass = 0; pass < places.size(); ++pass)
    ahead.push_back({static_cast<size_t>(free_from[pass]), places[pass].offset});
  return ahead;
}

}  // namespace headroom
