#include "decoder/gpu/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "decoder/gpu/distinct_requests.h"
#include "decoder/gpu/scope_regions.h"

namespace headroom {
namespace {

/// The live range of a request, in events.
struct LiveRange {
  int64_t bytes = 0;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();

  int64_t events(int64_t all) const { return std::min(end, all) - begin; }
  bool meets(const LiveRange& other) const { return begin < other.end && other.begin < end; }
};

std::vector<LiveRange> live_ranges_of(const MemoryRequests& requests) {
  std::vector<LiveRange> ranges(static_cast<size_t>(requests.count()));
  for (size_t i = 0; i < requests.events().size(); ++i) {
    const MemoryRequests::Event& event = requests.events()[i];
    LiveRange& range = ranges[static_cast<size_t>(event.number)];
    if (event.bytes > 0) {
      range.bytes = event.bytes;
      range.begin = static_cast<int64_t>(i);
    } else {
      range.end = static_cast<int64_t>(i);
    }
  }
  return ranges;
}

int64_t most_live_bytes(const MemoryRequests& requests, const std::vector<LiveRange>& ranges) {
  int64_t live = 0, most = 0;
  for (const MemoryRequests::Event& event : requests.events()) {
    live += event.bytes > 0 ? event.bytes : -ranges[static_cast<size_t>(event.number)].bytes;
    most = std::max(most, live);
  }
  return most;
}

/// Requests by falling importance.
using Order = std::vector<int32_t>;

/// Each request takes the lowest gap.
Placement place_in_order(const Order& order, const std::vector<LiveRange>& ranges) {
  Placement placement{0, 0, std::vector<int64_t>(ranges.size())};
  std::vector<int64_t>& offsets = placement.offsets;
  Order by_offset;  // those that have an offset
  by_offset.reserve(order.size());
  for (const int32_t number : order) {
    const LiveRange& range = ranges[static_cast<size_t>(number)];
    int64_t offset = 0;
    for (const int32_t other : by_offset) {
      const LiveRange& there = ranges[static_cast<size_t>(other)];
      if (!range.meets(there)) continue;
      const int64_t begin = offsets[static_cast<size_t>(other)];
      if (begin - offset >= range.bytes) break;
      offset = std::max(offset, begin + there.bytes);
    }
    offsets[static_cast<size_t>(number)] = offset;
    placement.bytes = std::max(placement.bytes, offset + range.bytes);
    const auto lower = [&](int64_t value, int32_t other) {
      return value < offsets[static_cast<size_t>(other)];
    };
    by_offset.insert(std::upper_bound(by_offset.begin(), by_offset.end(), offset, lower), number);
  }
  return placement;
}

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

/// Requests that end beyond `goal` move forward, half of the way: three of four, since all of them at once
/// may come back to an order that was there before.
void promote(Order& order, const Placement& placement, const std::vector<LiveRange>& ranges, int64_t goal,
             std::minstd_rand& random) {
  std::vector<std::pair<int64_t, int32_t>> ranks;
  ranks.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto number = static_cast<size_t>(order[i]);
    const bool beyond = placement.offsets[number] + ranges[number].bytes > goal && (random() / 8 & 3) != 0;
    const auto rank = static_cast<int64_t>(2 * i);
    ranks.emplace_back(beyond ? rank / 2 - 3 : rank, order[i]);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < order.size(); ++i) order[i] = ranks[i].second;
}

/// The most that is live at one time while each of them is.
std::vector<int64_t> most_beside(const std::vector<LiveRange>& ranges, const MemoryRequests& requests) {
  std::vector<int64_t> live;  // after each event
  for (const MemoryRequests::Event& event : requests.events()) {
    const int64_t before = live.empty() ? 0 : live.back();
    live.push_back(before +
                   (event.bytes > 0 ? event.bytes : -ranges[static_cast<size_t>(event.number)].bytes));
  }
  std::vector<int64_t> most;
  for (const LiveRange& range : ranges)
    most.push_back(
        *std::max_element(live.begin() + range.begin, live.begin() + std::min(range.end, std::ssize(live))));
  return most;
}

/// Orders to begin with, the most promising first: as requests come; by the most that is live beside them,
/// then by time; large ones, then as they come; those that outlast a tile as they come, then by bytes.
std::vector<Order> first_orders(const std::vector<LiveRange>& ranges, const MemoryRequests& requests,
                                int64_t live) {
  constexpr int64_t kLargeShare = 16;  // of the live bytes
  constexpr int64_t kLongEvents = 40;
  Order as_they_come(ranges.size());
  std::iota(as_they_come.begin(), as_they_come.end(), 0);
  std::vector<Order> orders{as_they_come};
  const auto by = [&](const auto& importance) {
    Order order = as_they_come;
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return importance(static_cast<size_t>(a)) > importance(static_cast<size_t>(b));
    });
    orders.push_back(std::move(order));
  };
  const std::vector<int64_t> beside = most_beside(ranges, requests);
  const std::ptrdiff_t events = std::ssize(requests.events());
  by([&](size_t i) { return std::pair(beside[i], ranges[i].events(events)); });
  by([&](size_t i) { return ranges[i].bytes > live / kLargeShare; });
  by([&](size_t i) {
    const bool is_long = ranges[i].events(events) > kLongEvents;
    return std::pair(is_long, is_long ? -ranges[i].begin : ranges[i].bytes);
  });
  return orders;
}

// A round compares every request with those placed before it; so many comparisons in all, about a second's.
constexpr double kMostComparisons = 1.5e9;
constexpr int kMostRounds = 100;
/// A placement with gaps of this share of the live bytes or less will do.
constexpr int64_t kGoodShare = 250;
/// Requests that end beyond the live bytes by more than this share are promoted.
constexpr int64_t kBeyondShare = 100;

int rounds_for(size_t requests) {
  const auto count = double(requests);
  return static_cast<int>(std::min(4.0 * kMostRounds, kMostComparisons / (count * count / 2 + 1)));
}

bool is_good(int64_t bytes, int64_t live) {
  return bytes <= live + live / kGoodShare;
}

Placement place_distinct(const MemoryRequests& requests, const std::vector<LiveRange>& ranges, int64_t live) {
  Placement best = place_as_they_come(requests, ranges, false);
  if (Placement together = place_as_they_come(requests, ranges, true);
      together.bytes <= best.bytes || is_good(together.bytes, live))
    best = std::move(together);
  int left = rounds_for(ranges.size());
  std::vector<Order> orders;
  if (left > 0 && !is_good(best.bytes, live)) orders = first_orders(ranges, requests, live);
  std::minstd_rand random(1);
  // The first order has half of the rounds, and so on.
  for (size_t i = 0; i < orders.size(); ++i) {
    const int rounds = std::min(kMostRounds, i + 1 < orders.size() ? (left + 1) / 2 : left);
    left -= rounds;
    for (int round = 0; round < rounds && !is_good(best.bytes, live); ++round) {
      Placement next = place_in_order(orders[i], ranges);
      promote(orders[i], next, ranges, live + live / kBeyondShare, random);
      if (next.bytes < best.bytes) best = std::move(next);
    }
  }
  return best;
}

}  // namespace

Placement find_placement(const MemoryRequests& all) {
  const Distinct distinct = distinct_of(all);
  const std::vector<LiveRange> ranges = live_ranges_of(distinct.requests);
  const int64_t live = most_live_bytes(distinct.requests, ranges);
  const Placement own = place_distinct(distinct.requests, ranges, live);
  Placement placement{own.bytes, live, {}};
  placement.offsets.reserve(distinct.of.size());
  for (const int64_t number : distinct.of)
    placement.offsets.push_back(own.offsets[static_cast<size_t>(number)]);
  if (is_good(own.bytes, live) || all.scopes().empty()) return placement;

  const RegionedRequests regioned = regions_of(all);
  const Placement regions = find_placement(regioned.requests);
  if (regions.bytes >= placement.bytes) return placement;
  placement.bytes = regions.bytes;
  for (size_t i = 0; i < regioned.offsets.size(); ++i) {
    const RegionedRequests::Offset& at = regioned.offsets[i];
    placement.offsets[i] = regions.offsets[static_cast<size_t>(at.request)] + at.offset;
  }
  return placement;
}

}  // namespace headroom
