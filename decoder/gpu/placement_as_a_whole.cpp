#include "decoder/gpu/placement_as_a_whole.h"

#include <algorithm>
#include <limits>

#include "decoder/gpu/as_they_come.h"
#include "decoder/gpu/ejection_repair.h"
#include "decoder/gpu/order_search.h"

namespace headroom {
namespace {

/// A placement with gaps of this share of the live bytes or less will do.
constexpr int64_t kGoodShare = 250;

/// One with larger gaps than this is never enough.
constexpr int64_t kFairShare = 50;

}  // namespace

int64_t good_bytes(int64_t live_bytes) {
  return live_bytes + live_bytes / kGoodShare;
}

int64_t fair_bytes(int64_t live_bytes) {
  return live_bytes + live_bytes / kFairShare;
}

Placement place_as_a_whole(const MemoryRequests& requests, int64_t enough_bytes, PlacementEffort effort) {
  const std::vector<LiveRange> ranges = live_ranges_of(requests);
  const int64_t live = most_live_bytes(requests, ranges), good = good_bytes(live);
  Placement best = place_as_they_come(requests, ranges, false);
  if (Placement together = place_as_they_come(requests, ranges, true);
      together.bytes <= std::max(best.bytes, good))
    best = std::move(together);
  best.live_bytes = live;
  if (best.bytes <= good) return best;
  const bool little = effort == PlacementEffort::little;
  const int64_t enough = std::min(enough_bytes, fair_bytes(live));
  const Neighbours neighbours(requests);
  OrderSearch(requests, ranges, neighbours)
      .improve(best, good, little ? std::numeric_limits<int64_t>::max() : enough);
  if (!little) EjectionRepair(ranges, neighbours).improve(best, std::max(good, enough));
  return best;
}

}  // namespace headroom
