#include "decoder/gpu/order_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "decoder/gpu/radix_sort.h"

namespace headroom {
namespace {

// Visits of neighbours, of which a processor makes some fifty million a second.
constexpr int64_t kMostVisits = 16'000'000;
constexpr int64_t kFewVisits = 3'000'000;
/// An order that takes so much more than the best is given up, a share of that.
constexpr int64_t kHopelessShare = 12;
/// Orders that are changed, and rounds with each of them at first and at last.
constexpr size_t kCandidates = 3;
constexpr int kFirstRounds = 8, kMostRounds = 512;
/// Requests that end beyond the live bytes by more than this share are promoted.
constexpr int64_t kBeyondShare = 200;

}  // namespace

OrderSearch::OrderSearch(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                         const Neighbours& neighbours)
    : requests_(requests),
      ranges_(ranges),
      neighbours_(neighbours),
      live_(live_bytes_of(requests, ranges)),
      ranks_(ranges.size()) {
  if (!live_.empty()) live_bytes_ = *std::max_element(live_.begin(), live_.end());
}

int64_t OrderSearch::lowest_gap(size_t request, const Candidate& candidate) {
  taken_.clear();
  int64_t most_begin = 0;
  for (const int32_t number : neighbours_.of(request)) {
    const auto other = static_cast<size_t>(number);
    const int64_t begin = candidate.offsets[other];
    if (ranks_[other] >= ranks_[request]) continue;
    taken_.push_back({begin, begin + ranges_[other].bytes});
    most_begin = std::max(most_begin, begin);
  }
  visits_ += neighbours_.count_of(request) + 1;
  radix_sort(taken_, spare_, static_cast<uint64_t>(most_begin / kOffsetUnit),
             [](const Taken& taken) { return static_cast<uint64_t>(taken.begin / kOffsetUnit); });
  int64_t offset = 0;
  for (const Taken& taken : taken_) {
    if (taken.begin - offset >= ranges_[request].bytes) break;
    offset = std::max(offset, taken.end);
  }
  return offset;
}

bool OrderSearch::place(Candidate& candidate, int64_t most_bytes) {
  for (size_t i = 0; i < candidate.order.size(); ++i)
    ranks_[static_cast<size_t>(candidate.order[i])] = static_cast<int32_t>(i);
  for (const int32_t number : candidate.order) {
    const auto request = static_cast<size_t>(number);
    if (!candidate.moves[request]) continue;
    candidate.moves[request] = false;
    const int64_t offset = lowest_gap(request, candidate);
    if (offset > most_bytes - ranges_[request].bytes) return false;
    if (offset == candidate.offsets[request]) continue;
    candidate.offsets[request] = offset;
    for (const int32_t neighbour : neighbours_.of(request)) {
      const auto other = static_cast<size_t>(neighbour);
      if (ranks_[other] > ranks_[request]) candidate.moves[other] = true;
    }
  }
  measure(candidate);
  return true;
}

bool OrderSearch::place_as_they_come(Candidate& candidate, int64_t most_bytes) {
  std::vector<Taken>& live = taken_;  // by offset
  live.clear();
  for (const MemoryRequests::Event& event : requests_.events()) {
    const auto request = static_cast<size_t>(event.number);
    int64_t& offset = candidate.offsets[request];
    if (event.bytes == 0) {
      live.erase(std::lower_bound(live.begin(), live.end(), offset,
                                  [](const Taken& taken, int64_t begin) { return taken.begin < begin; }));
      continue;
    }
    visits_ += neighbours_.count_of(request) + 1;
    offset = 0;
    auto above = live.begin();
    for (; above != live.end() && above->begin - offset < event.bytes; ++above) offset = above->end;
    if (offset > most_bytes - event.bytes) return false;
    live.insert(above, {offset, offset + event.bytes});
  }
  candidate.moves.assign(ranges_.size(), false);
  measure(candidate);
  return true;
}

void OrderSearch::measure(Candidate& candidate) const {
  candidate.bytes = 0;
  for (size_t i = 0; i < ranges_.size(); ++i)
    candidate.bytes = std::max(candidate.bytes, candidate.offsets[i] + ranges_[i].bytes);
  candidate.least_bytes = std::min(candidate.least_bytes, candidate.bytes);
}

/// Requests that end too high move forward, half of the way: three of four, since all of them at once may
/// come back to an order that was there before.
void OrderSearch::promote(Candidate& candidate, std::minstd_rand& random) const {
  const int64_t goal = live_bytes_ + live_bytes_ / kBeyondShare;
  std::vector<std::pair<int64_t, int32_t>> ranks;
  ranks.reserve(candidate.order.size());
  for (size_t i = 0; i < candidate.order.size(); ++i) {
    const auto request = static_cast<size_t>(candidate.order[i]);
    const bool beyond = candidate.offsets[request] + ranges_[request].bytes > goal && (random() / 8 & 3) != 0;
    const auto rank = static_cast<int64_t>(2 * i);
    ranks.emplace_back(beyond ? rank / 2 - 3 : rank, candidate.order[i]);
    if (!beyond) continue;
    candidate.moves[request] = true;
    for (const int32_t other : neighbours_.of(request)) candidate.moves[static_cast<size_t>(other)] = true;
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < ranks.size(); ++i) candidate.order[i] = ranks[i].second;
}

OrderSearch::Candidate OrderSearch::candidate_of(Order order) const {
  return {std::move(order), std::vector<int64_t>(ranges_.size(), -1),
          std::vector<bool>(ranges_.size(), true)};
}

/// Orders to begin with, after that in which requests come: large ones first; roughly by the most that is
/// live beside them; and those that stay for so many events first, in the order in which they come or go or
/// by bytes, then the others by bytes.
std::vector<OrderSearch::Order> OrderSearch::first_orders() const {
  constexpr int64_t kLargeShare = 16, kRoughShare = 50;  // of the live bytes
  constexpr int64_t kLongEvents[] = {40, 150, 600, 2400};
  Order as_they_come(ranges_.size());
  std::iota(as_they_come.begin(), as_they_come.end(), 0);
  std::vector<Order> orders;
  const auto by = [&](const auto& importance) {
    Order order = as_they_come;
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return importance(static_cast<size_t>(a)) > importance(static_cast<size_t>(b));
    });
    orders.push_back(std::move(order));
  };
  const std::ptrdiff_t events = std::ssize(live_);
  const auto long_ones_by = [&](int64_t long_events, const auto& importance) {
    by([&](size_t i) {
      const bool is_long = ranges_[i].events(events) > long_events;
      return std::pair(is_long, is_long ? importance(i) : ranges_[i].bytes);
    });
  };
  for (const int64_t long_events : kLongEvents)
    long_ones_by(long_events, [&](size_t i) { return -ranges_[i].begin; });
  by([&](size_t i) { return ranges_[i].bytes > live_bytes_ / kLargeShare; });
  for (const int64_t long_events : kLongEvents) {
    long_ones_by(long_events, [&](size_t i) { return -ranges_[i].end; });
    long_ones_by(long_events, [&](size_t i) { return ranges_[i].end; });
    long_ones_by(long_events, [&](size_t i) { return ranges_[i].bytes; });
  }
  std::vector<int64_t> beside;  // the most that is live at one time while each of them is
  for (const LiveRange& range : ranges_)
    beside.push_back(
        *std::max_element(live_.begin() + range.begin, live_.begin() + std::min(range.end, events)));
  by([&](size_t i) { return std::pair(beside[i], ranges_[i].events(events)); });
  by([&](size_t i) { return std::pair(beside[i] * kRoughShare / live_bytes_, ranges_[i].bytes); });
  return orders;
}

void OrderSearch::improve(Placement& best, int64_t good_bytes, int64_t enough_bytes) {
  std::vector<Candidate> candidates;
  const auto take = [&](const Candidate& candidate) {
    if (candidate.bytes >= best.bytes) return;
    best.bytes = candidate.bytes;
    best.offsets = candidate.offsets;
  };
  const auto goes_on = [&] {
    return best.bytes > good_bytes && visits_ < (best.bytes <= enough_bytes ? kFewVisits : kMostVisits);
  };
  const auto by_bytes = [](const Candidate& a, const Candidate& b) { return a.least_bytes < b.least_bytes; };
  const auto hopeless_bytes = [&] { return best.bytes + best.bytes / kHopelessShare; };
  const auto add = [&](Candidate candidate) {
    take(candidate);
    candidates.push_back(std::move(candidate));
  };
  visits_ = 0;
  Order as_they_come(ranges_.size());
  std::iota(as_they_come.begin(), as_they_come.end(), 0);
  Candidate first = candidate_of(std::move(as_they_come));
  if (place_as_they_come(first, hopeless_bytes())) add(std::move(first));
  // Many requests take all the visits at once.
  for (Order& order : goes_on() ? first_orders() : std::vector<Order>{}) {
    if (!goes_on() || visits_ > kMostVisits / 2) break;
    Candidate candidate = candidate_of(std::move(order));
    if (place(candidate, hopeless_bytes())) add(std::move(candidate));
  }
  std::minstd_rand random(1);
  std::stable_sort(candidates.begin(), candidates.end(), by_bytes);
  candidates.resize(std::min(candidates.size(), kCandidates));
  // The better half goes on with twice as many rounds.
  for (int rounds = kFirstRounds; goes_on() && !candidates.empty() && rounds <= kMostRounds; rounds *= 2) {
    for (Candidate& candidate : candidates) {
      for (int round = 0; round < rounds && goes_on(); ++round) {
        promote(candidate, random);
        place(candidate, std::numeric_limits<int64_t>::max());
        take(candidate);
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(), by_bytes);
    candidates.resize((candidates.size() + 1) / 2);
  }
}

}  // namespace headroom
