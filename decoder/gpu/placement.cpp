#include "decoder/gpu/placement.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "decoder/gpu/distinct_requests.h"
#include "decoder/gpu/placement_as_a_whole.h"
#include "decoder/gpu/placement_by_pass.h"

namespace headroom {
namespace {

Placement place(const MemoryRequests& requests, int64_t enough_bytes, PlacementEffort effort) {
  if (requests.passes().empty()) return place_as_a_whole(requests, enough_bytes, PlacementEffort::full);
  const auto or_full = [&](Placement best) {
    Placement whole = place_as_a_whole(requests, enough_bytes, PlacementEffort::full);
    return whole.bytes <= best.bytes ? whole : best;
  };
  Placement best = place_as_a_whole(requests, enough_bytes, PlacementEffort::little);
  const int64_t live_bytes = best.live_bytes;
  if (best.bytes <= enough_bytes)
    return best.bytes <= fair_bytes(live_bytes) ? best : or_full(std::move(best));
  if (std::optional<Placement> moved = place_by_pass(requests, enough_bytes, best.bytes)) {
    best = std::move(*moved);
    best.live_bytes = live_bytes;
    if (best.bytes <= enough_bytes) return best;
  }
  return effort == PlacementEffort::full ? or_full(std::move(best)) : best;
}

}  // namespace

std::vector<Stay> stays_of(const std::vector<LiveRange>& ranges, const Placement& placement) {
  std::vector<Stay> stays;
  for (size_t i = 0; i < ranges.size(); ++i)
    stays.push_back({static_cast<int64_t>(i), placement.offsets[i], ranges[i].begin, ranges[i].end});
  std::vector<size_t> last(ranges.size());  // stay of each
  std::iota(last.begin(), last.end(), size_t{0});
  for (const Move& move : placement.moves) {
    Stay& before = stays[last[static_cast<size_t>(move.number)]];
    const auto event = static_cast<int64_t>(move.event);
    if (before.begin == event) {  // it was put aside meanwhile
      before.offset = move.to;
      continue;
    }
    const Stay after{move.number, move.to, event, before.end};
    before.end = event - 1;
    last[static_cast<size_t>(move.number)] = stays.size();
    stays.push_back(after);
  }
  return stays;
}

Placement find_placement(const MemoryRequests& requests, int64_t enough_bytes, PlacementEffort effort) {
  const Distinct distinct = distinct_of(requests);
  const Placement own = place(distinct.requests, enough_bytes, effort);
  Placement all{own.bytes, most_live_bytes(requests, live_ranges_of(requests)), {}, own.moves};
  all.offsets.reserve(distinct.of.size());
  std::vector<int64_t> original(static_cast<size_t>(distinct.requests.count()), -1);
  for (size_t i = 0; i < distinct.of.size(); ++i) {
    const auto number = static_cast<size_t>(distinct.of[i]);
    all.offsets.push_back(own.offsets[number]);
    // What may be moved stands for itself alone.
    if (original[number] < 0) original[number] = static_cast<int64_t>(i);
  }
  const std::vector<size_t>&own_passes = distinct.requests.passes(), &passes = requests.passes();
  size_t pass = 0;
  for (Move& move : all.moves) {
    while (own_passes[pass] != move.event) ++pass;
    move.event = passes[pass];
    move.number = original[static_cast<size_t>(move.number)];
  }
  return all;
}

}  // namespace headroom
