#include "decoder/gpu/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "decoder/gpu/distinct_requests.h"
#include "decoder/gpu/ejection_repair.h"
#include "decoder/gpu/order_search.h"

namespace headroom {
namespace {

/// Requests in the order in which they come, each in the smallest gap of the moment, but behind the one
/// before it in a series where that can be. `together`: the first of a series takes a gap for all of it.
/// Takes no comparisons.
Placement place_as_they_come(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                             bool together) {
  Placement placement{0, 0, std::vector<int64_t>(ranges.size())};
  std::map<int64_t, int64_t> gaps;                // offset -> bytes
  std::set<std::pair<int64_t, int64_t>> by_size;  // bytes, offset
  const auto add = [&](int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    gaps[offset] = bytes;
    by_size.insert({bytes, offset});
  };
  const auto remove = [&](std::map<int64_t, int64_t>::iterator gap) {
    by_size.erase({gap->second, gap->first});
    return gaps.erase(gap);
  };
  const auto gap_for = [&](const MemoryRequests::Event& event) -> std::pair<int64_t, int64_t> {
    const auto& [before, bytes_after] = event.series;
    if (before >= 0) {
      const auto number = static_cast<size_t>(before);
      const auto next = gaps.find(placement.offsets[number] + ranges[number].bytes);
      if (next != gaps.end() && next->second >= event.bytes) return {next->second, next->first};
    }
    return *by_size.lower_bound({event.bytes + (together ? bytes_after : 0), 0});
  };
  add(0, std::numeric_limits<int64_t>::max() / 2);
  for (const MemoryRequests::Event& event : requests.events()) {
    int64_t& offset = placement.offsets[static_cast<size_t>(event.number)];
    if (event.bytes > 0) {
      const auto [bytes, begin] = gap_for(event);
      offset = begin;
      remove(gaps.find(begin));
      add(begin + event.bytes, bytes - event.bytes);
      placement.bytes = std::max(placement.bytes, begin + event.bytes);
      continue;
    }
    int64_t begin = offset, bytes = ranges[static_cast<size_t>(event.number)].bytes;
    auto after = gaps.lower_bound(begin);
    if (after != gaps.end() && after->first == begin + bytes) {
      bytes += after->second;
      after = remove(after);
    }
    if (after != gaps.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == begin) {
        begin = before->first;
        bytes += before->second;
        remove(before);
      }
    }
    add(begin, bytes);
  }
  return placement;
}

/// A placement with gaps of this share of the live bytes or less will do.
constexpr int64_t kGoodShare = 250;

/// One with larger gaps than this is never enough.
constexpr int64_t kFairShare = 50;

int64_t good_bytes(int64_t live) {
  return live + live / kGoodShare;
}

int64_t most_live_bytes(const MemoryRequests& requests) {
  const std::vector<int64_t> live = live_bytes_of(requests, live_ranges_of(requests));
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

Placement place_distinct(const MemoryRequests& requests, int64_t good, int64_t enough_bytes) {
  const std::vector<LiveRange> ranges = live_ranges_of(requests);
  Placement best = place_as_they_come(requests, ranges, false);
  if (Placement together = place_as_they_come(requests, ranges, true);
      together.bytes <= std::max(best.bytes, good))
    best = std::move(together);
  if (best.bytes <= good) return best;
  best.live_bytes = most_live_bytes(requests);
  const Neighbours neighbours(requests);
  OrderSearch(requests, ranges, neighbours).improve(best, good, enough_bytes);
  EjectionRepair(ranges, neighbours).improve(best, std::max(good, enough_bytes));
  return best;
}

}  // namespace

Placement find_placement(const MemoryRequests& all, int64_t enough_bytes) {
  const Distinct distinct = distinct_of(all);
  const int64_t live = most_live_bytes(all), good = good_bytes(live);
  const int64_t enough = std::min(enough_bytes, live + live / kFairShare);
  const Placement own = place_distinct(distinct.requests, good, enough);
  Placement placement{own.bytes, live, {}};
  placement.offsets.reserve(distinct.of.size());
  for (const int64_t number : distinct.of)
    placement.offsets.push_back(own.offsets[static_cast<size_t>(number)]);
  return placement;
}

}  // namespace headroom
