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

const Placement& smaller(const Placement& a, const Placement& b) {
  return a.bytes <= b.bytes ? a : b;
}

Placement place(const MemoryRequests& requests, int64_t enough_bytes, PlacementEffort effort) {
  // Of what is live: so few bytes are moved that it costs next to nothing, and so little is there beside it
  // that only moving will do.
  constexpr int64_t kFewShare = 4, kHardlyMoreShare = 2000;
  if (requests.passes().empty()) return place_as_a_whole(requests, enough_bytes, PlacementEffort::full);
  const auto in_full = [&] { return place_as_a_whole(requests, enough_bytes, PlacementEffort::full); };
  Placement whole = place_as_a_whole(requests, enough_bytes, PlacementEffort::little);
  if (whole.bytes <= enough_bytes)
    return whole.bytes <= fair_bytes(whole.live_bytes) ? whole : smaller(in_full(), whole);
  const int64_t live_bytes = whole.live_bytes;
  std::optional<Placement> moved = place_by_pass(requests, enough_bytes, whole.bytes);
  // What is planned is decoded with the same requests and the same bytes that are enough. So what takes long
  // may be left undone where it is planned, if it is when it is decoded.
  if (!moved) return effort == PlacementEffort::full ? smaller(in_full(), whole) : whole;
  moved->live_bytes = live_bytes;
  if (moved->bytes > enough_bytes) {
    const bool is_good = effort != PlacementEffort::full && moved->bytes <= good_bytes(live_bytes);
    return is_good ? *moved : smaller(in_full(), *moved);
  }
  const bool hardly_more = enough_bytes < live_bytes + live_bytes / kHardlyMoreShare;
  if (hardly_more || bytes_of(moved->moves) <= live_bytes / kFewShare) return *moved;
  // It costs time to move so much: nothing is where more effort finds room for all at once.
  whole = in_full();
  return whole.bytes <= enough_bytes ? whole : *moved;
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
