#include "decoder/gpu/order_search.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace headroom {
namespace {

// Visits of neighbours, of which a processor makes a hundred million a second.
constexpr int64_t kMostVisits = 24'000'000;
constexpr int64_t kFewVisits = 3'000'000;
// Rounds with each order.
constexpr int kMostRounds = 400;
constexpr int kFewRounds = 10;
/// Requests that end beyond the live bytes by more than this share are promoted.
constexpr int64_t kBeyondShare = 100;

/// Requests that end beyond `goal` move forward, half of the way: three of four, since all of them at once
/// may come back to an order that was there before.
void promote(std::vector<int32_t>& order, const Placement& placement, const std::vector<LiveRange>& ranges,
             int64_t goal, std::minstd_rand& random) {
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

}  // namespace

OrderSearch::OrderSearch(const MemoryRequests& requests, const std::vector<LiveRange>& ranges)
    : ranges_(ranges), live_(live_bytes_of(requests, ranges)) {
  if (!live_.empty()) live_bytes_ = *std::max_element(live_.begin(), live_.end());
  find_neighbours(requests);
}

void OrderSearch::find_neighbours(const MemoryRequests& requests) {
  // Of each request first those that were there when it came; who comes later adds itself to them.
  std::vector<int32_t> there;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  first_neighbour_.assign(ranges_.size() + 1, 0);
  for (const MemoryRequests::Event& event : requests.events()) {
    const auto number = static_cast<int32_t>(event.number);
    if (event.bytes == 0) {
      there.erase(std::find(there.begin(), there.end(), number));
      continue;
    }
    for (const int32_t other : there) {
      pairs.emplace_back(number, other);
      ++first_neighbour_[static_cast<size_t>(number) + 1];
      ++first_neighbour_[static_cast<size_t>(other) + 1];
    }
    there.push_back(number);
  }
  std::partial_sum(first_neighbour_.begin(), first_neighbour_.end(), first_neighbour_.begin());
  neighbours_.resize(first_neighbour_.back());
  std::vector<size_t> next(first_neighbour_.begin(), first_neighbour_.end() - 1);
  for (const auto& [a, b] : pairs) {
    neighbours_[next[static_cast<size_t>(a)]++] = b;
    neighbours_[next[static_cast<size_t>(b)]++] = a;
  }
}

Placement OrderSearch::place(const Order& order) {
  constexpr int64_t kNone = -1;
  Placement placement{0, live_bytes_, std::vector<int64_t>(ranges_.size(), kNone)};
  for (const int32_t number : order) {
    const auto own = static_cast<size_t>(number);
    taken_.clear();
    for (size_t i = first_neighbour_[own]; i < first_neighbour_[own + 1]; ++i) {
      const auto other = static_cast<size_t>(neighbours_[i]);
      const int64_t offset = placement.offsets[other];
      if (offset != kNone) taken_.push_back({offset, offset + ranges_[other].bytes});
    }
    visits_ += static_cast<int64_t>(first_neighbour_[own + 1] - first_neighbour_[own]) + 1;
    std::sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    int64_t offset = 0;
    for (const Taken& taken : taken_) {
      if (taken.begin - offset >= ranges_[own].bytes) break;
      offset = std::max(offset, taken.end);
    }
    placement.offsets[own] = offset;
    placement.bytes = std::max(placement.bytes, offset + ranges_[own].bytes);
  }
  return placement;
}

/// Orders to begin with: as requests come; by the most that is live beside them, then by time, or roughly by
/// it, then by bytes; large ones, then as they come; those that outlast a tile as they come, then by bytes.
std::vector<OrderSearch::Order> OrderSearch::first_orders() const {
  constexpr int64_t kLargeShare = 16, kRoughShare = 50;  // of the live bytes
  constexpr int64_t kLongEvents = 40;
  Order as_they_come(ranges_.size());
  std::iota(as_they_come.begin(), as_they_come.end(), 0);
  std::vector<Order> orders{as_they_come};
  const auto by = [&](const auto& importance) {
    Order order = as_they_come;
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return importance(static_cast<size_t>(a)) > importance(static_cast<size_t>(b));
    });
    orders.push_back(std::move(order));
  };
  const std::ptrdiff_t events = std::ssize(live_);
  std::vector<int64_t> beside;  // the most that is live at one time while each of them is
  for (const LiveRange& range : ranges_)
    beside.push_back(
        *std::max_element(live_.begin() + range.begin, live_.begin() + std::min(range.end, events)));
  by([&](size_t i) { return std::pair(beside[i], ranges_[i].events(events)); });
  by([&](size_t i) { return std::pair(beside[i] * kRoughShare / live_bytes_, ranges_[i].bytes); });
  by([&](size_t i) { return ranges_[i].bytes > live_bytes_ / kLargeShare; });
  by([&](size_t i) {
    const bool is_long = ranges_[i].events(events) > kLongEvents;
    return std::pair(is_long, is_long ? -ranges_[i].begin : ranges_[i].bytes);
  });
  return orders;
}

void OrderSearch::improve(Placement& best, int64_t good_bytes, int64_t enough_bytes) {
  if (best.bytes <= good_bytes) return;
  visits_ = 0;
  std::vector<Order> orders = first_orders();
  std::minstd_rand random(1);
  for (size_t i = 0; i < orders.size(); ++i) {
    const int64_t before = visits_;
    for (int round = 0; best.bytes > good_bytes; ++round) {
      const bool enough = best.bytes <= enough_bytes;
      // Each order has its share of what is left.
      const int64_t share =
          ((enough ? kFewVisits : kMostVisits) - before) / (std::ssize(orders) - std::ptrdiff_t(i));
      if (round > 0 && (visits_ - before >= share || round >= (enough ? kFewRounds : kMostRounds))) break;
      Placement next = place(orders[i]);
      promote(orders[i], next, ranges_, live_bytes_ + live_bytes_ / kBeyondShare, random);
      if (next.bytes < best.bytes) best = std::move(next);
    }
  }
}

}  // namespace headroom
