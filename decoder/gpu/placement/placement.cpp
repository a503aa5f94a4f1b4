#include "decoder/gpu/placement/placement.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "decoder/gpu/placement/buffers.h"
#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {
namespace {

struct Taken {
  int64_t begin = 0, end = 0;
};

/// Live requests in a reservation of a given size, sorted by offset.
class LiveRequests {
 public:
  explicit LiveRequests(int64_t bytes) : bytes_(bytes) {}

  /// Offset of the smallest gap of at least `bytes`; ties go to the lowest offset.
  std::optional<int64_t> smallest_gap(int64_t bytes) const {
    std::optional<int64_t> offset;
    int64_t smallest = bytes_ + 1, end = 0;
    const auto look_at = [&](int64_t gap) {
      if (gap < bytes || gap >= smallest) return;
      smallest = gap;
      offset = end;
    };
    for (const Taken& taken : live_) {
      look_at(taken.begin - end);
      end = taken.end;
    }
    look_at(bytes_ - end);
    return offset;
  }
  bool is_free(int64_t offset, int64_t bytes) const {
    const auto after = first_from(offset);
    return offset + bytes <= (after == live_.end() ? bytes_ : after->begin) &&
           (after == live_.begin() || (after - 1)->end <= offset);
  }
  void take(int64_t offset, int64_t bytes) { live_.insert(first_from(offset), {offset, offset + bytes}); }
  void give_back(int64_t offset) { live_.erase(first_from(offset)); }

 private:
  std::vector<Taken>::const_iterator first_from(int64_t offset) const {
    return std::lower_bound(live_.begin(), live_.end(), offset,
                            [](const Taken& taken, int64_t begin) { return taken.begin < begin; });
  }

  const int64_t bytes_;
  std::vector<Taken> live_;
};

/// `together`: the first request of a series looks for a gap that holds the whole series, and the others
/// follow it there.
std::optional<std::vector<int64_t>> fit(const PassRequests& pass, std::span<const int64_t> held,
                                        int64_t bytes, bool together) {
  std::vector<int64_t> offsets(pass.buffers.size());
  LiveRequests live(bytes);
  const auto offset_for = [&](size_t number) -> std::optional<int64_t> {
    const int64_t own_bytes = pass.buffers[number].bytes;
    if (number < held.size())
      return live.is_free(held[number], own_bytes) ? std::optional(held[number]) : std::nullopt;
    const auto [before, bytes_after] = pass.series[number];
    if (together && before >= 0) {
      const auto other = static_cast<size_t>(before);
      const int64_t behind = offsets[other] + pass.buffers[other].bytes;
      if (live.is_free(behind, own_bytes)) return behind;
    }
    if (together && bytes_after > 0) {
      if (const auto offset = live.smallest_gap(own_bytes + bytes_after)) return offset;
    }
    return live.smallest_gap(own_bytes);
  };
  for (const int64_t event : pass.events) {
    const auto number = static_cast<size_t>(event < 0 ? ~event : event);
    if (event < 0) {
      live.give_back(offsets[number]);
      continue;
    }
    const std::optional<int64_t> offset = offset_for(number);
    if (!offset) return std::nullopt;
    live.take(offsets[number] = *offset, pass.buffers[number].bytes);
  }
  return offsets;
}

// Best-fit offsets within `bytes`: each request takes the smallest sufficient gap at the time of the
// request. The first requests have the offsets of `held`. Requests of a series are contiguous if possible.
// Empty if a request finds no gap.
std::optional<std::vector<int64_t>> best_fit(const PassRequests& pass, std::span<const int64_t> held,
                                             int64_t bytes) {
  auto found = fit(pass, held, bytes, true);
  return found ? found : fit(pass, held, bytes, false);
}

/// Slack over the peak of live bytes in the placements to try, from loose to tight.
constexpr double kShares[] = {0.005, 0.002, 0.001, 0};

/// Search budgets (visits of BufferPlacement): per pass, for all requests at once, and for all requests if
/// nothing can move.
constexpr int64_t kVisitsOfPass = 20'000'000, kVisitsAtOnce = 8'000'000, kVisitsWithoutMoves = 60'000'000;

/// Moves cost time. So a placement without moves is preferred if its slack is at most this share and the
/// limit allows it.
constexpr double kFairShare = 0.02;

int64_t within(int64_t live_bytes, double share) {
  return (live_bytes + static_cast<int64_t>(double(live_bytes) * share)) / kOffsetUnit * kOffsetUnit;
}

/// Places requests pass by pass. Between two passes only kept blocks are live. If a pass does not fit around
/// them, its requests are placed from scratch and the blocks move.
class PlacementByPass {
 public:
  /// `all` must outlive it. `most_visits` is the search budget of a pass (BufferPlacement).
  PlacementByPass(const RequestsByPass& all, size_t requests, int64_t most_visits)
      : all_(all), requests_(requests), most_visits_(most_visits) {
    for (const PassRequests& pass : all.passes) searches_.emplace_back(pass.buffers);
  }

  /// Empty if a pass does not fit in `bytes`, or if no order of moves is found.
  std::optional<Placement> in(int64_t bytes) {
    bytes_ = bytes;
    now_.assign(requests_, 0);
    placement_ = {};
    placement_.offsets.resize(requests_);
    for (const RequestsByPass::Fixed& fixed : all_.fixed) placement_.offsets[fixed.number] = fixed.offset;
    for (size_t i = 0; i < all_.passes.size(); ++i) {
      const PassRequests& pass = all_.passes[i];
      placement_.bytes = std::max(placement_.bytes, pass.fixed_bytes);
      if (!place_around(pass, searches_[i]) && !place_anew(pass, searches_[i])) return std::nullopt;
    }
    return std::move(placement_);
  }

 private:
  using Offsets = std::vector<int64_t>;

  /// Places the pass's requests around the standing blocks. False if they do not fit.
  bool place_around(const PassRequests& pass, BufferPlacement& search) {
    Offsets held;
    for (size_t i = 0; i < pass.standing; ++i) held.push_back(now_[pass.numbers[i]] - pass.fixed_bytes);
    auto offsets = best_fit(pass, held, bytes_ - pass.fixed_bytes);
    if (!offsets && pass.standing > 0) offsets = search.around(held, bytes_ - pass.fixed_bytes);
    if (offsets) take(pass, *offsets);
    return offsets.has_value();
  }

  /// Places all requests from scratch and moves standing blocks.
  bool place_anew(const PassRequests& pass, BufferPlacement& search) {
    const int64_t room = bytes_ - pass.fixed_bytes;
    std::optional<Offsets> found;
    if (pass.standing > 0) found = best_fit(pass, {}, room);  // otherwise place_around() has tried this
    if (!found) found = search.in(room, most_visits_);
    if (!found) return false;
    Offsets& offsets = *found;
    move_few(pass, offsets);
    std::vector<StandingBlock> blocks;
    for (size_t i = 0; i < pass.standing; ++i) {
      const size_t number = pass.numbers[i];
      blocks.push_back(
          {static_cast<int64_t>(number), pass.buffers[i].bytes, now_[number], offsets[i] + pass.fixed_bytes});
    }
    const auto moves = moves_of(std::move(blocks), pass.begin, pass.fixed_bytes, bytes_);
    if (!moves) return false;
    placement_.moves.insert(placement_.moves.end(), moves->begin(), moves->end());
    for (const Move& move : *moves) placement_.bytes = std::max(placement_.bytes, move.to + move.bytes);
    take(pass, offsets);
    return true;
  }

  /// Standing blocks of equal size that live through the whole pass can swap targets, so that fewer of them
  /// move.
  void move_few(const PassRequests& pass, Offsets& offsets) const {
    std::map<int64_t, std::vector<size_t>> alike;  // by bytes
    for (size_t i = 0; i < pass.standing; ++i)
      if (pass.buffers[i].end == std::ssize(pass.events)) alike[pass.buffers[i].bytes].push_back(i);
    for (const auto& [bytes, blocks] : alike) {
      std::set<int64_t> places;
      for (const size_t i : blocks) places.insert(offsets[i]);
      std::vector<size_t> others;
      for (const size_t i : blocks) {
        const int64_t now = now_[pass.numbers[i]] - pass.fixed_bytes;
        if (places.erase(now) > 0)
          offsets[i] = now;
        else
          others.push_back(i);
      }
      auto place = places.begin();
      for (const size_t i : others) offsets[i] = *place++;
    }
  }

  void take(const PassRequests& pass, const Offsets& offsets) {
    for (size_t i = 0; i < pass.numbers.size(); ++i) {
      now_[pass.numbers[i]] = offsets[i] + pass.fixed_bytes;
      if (i >= pass.standing) placement_.offsets[pass.numbers[i]] = now_[pass.numbers[i]];
      placement_.bytes = std::max(placement_.bytes, now_[pass.numbers[i]] + pass.buffers[i].bytes);
    }
  }

  const RequestsByPass& all_;
  const size_t requests_;
  const int64_t most_visits_;
  std::vector<BufferPlacement> searches_;  ///< by pass
  int64_t bytes_ = 0;                      ///< of the reservation
  Offsets now_;                            ///< current offset by live request
  Placement placement_;
};

/// Tries tighter and tighter placements and returns the first one within `enough_bytes`, else the smallest.
Placement place(const MemoryRequests& requests, int64_t enough_bytes) {
  const RequestsByPass passes = by_pass(requests);
  const auto count = static_cast<size_t>(requests.count());
  const bool can_move = passes.passes.size() > 1;
  PlacementByPass by_pass(passes, count, can_move ? kVisitsOfPass : kVisitsWithoutMoves);
  const auto in = [&](double share) { return by_pass.in(within(passes.live_bytes, share)); };
  const bool tight = can_move && enough_bytes < passes.live_bytes;  // no placement is small enough
  std::optional<Placement> first = in(kShares[0]);
  // Less slack hardly ever succeeds if more slack failed, and every attempt may use up its budget.
  if (tight && first) {
    for (size_t i = std::size(kShares); i-- > 1;)
      if (auto found = in(kShares[i])) return *found;
    return *first;
  }
  std::optional<Placement> best;
  const auto is_enough = [&](std::optional<Placement> found) {
    if (found && (!best || found->bytes < best->bytes)) best = std::move(found);
    return best && best->bytes <= enough_bytes;
  };
  if (can_move && (!first || !first->moves.empty())) {
    const RequestsByPass one = as_one_pass(requests);
    const int64_t good = within(one.live_bytes, kShares[0]), fair = within(one.live_bytes, kFairShare);
    PlacementByPass at_once(one, count, kVisitsAtOnce);
    if (is_enough(at_once.in(good))) return *best;
    if (first && enough_bytes >= good) {
      if (auto found = at_once.in(std::min(fair, enough_bytes))) {
        // A search with fewer `enough_bytes` may return `first`. Reporting at least its size keeps results
        // consistent between limits.
        found->bytes = std::max(found->bytes, first->bytes);
        return *found;
      }
    }
  }
  const bool any = first.has_value();
  if (is_enough(std::move(first))) return *best;
  for (size_t i = 1; i < std::size(kShares) && any; ++i)
    if (is_enough(in(kShares[i]))) return *best;
  for (double share = 2 * kShares[0]; !best; share *= 2) best = in(share);
  return *best;
}

}  // namespace

std::vector<Stay> stays_of(const std::vector<Buffer>& ranges, const Placement& placement) {
  std::vector<Stay> stays;
  for (size_t i = 0; i < ranges.size(); ++i)
    stays.push_back({static_cast<int64_t>(i), placement.offsets[i], ranges[i].begin, ranges[i].end});
  std::vector<size_t> last(ranges.size());  // latest stay of each request
  std::iota(last.begin(), last.end(), size_t{0});
  for (const Move& move : placement.moves) {
    Stay& before = stays[last[static_cast<size_t>(move.number)]];
    const auto event = static_cast<int64_t>(move.event);
    if (before.begin == event) {  // an intermediate move at the same event
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

Placement find_placement(const MemoryRequests& requests, int64_t enough_bytes) {
  const Distinct distinct = distinct_of(requests);
  const Placement own = place(distinct.requests, enough_bytes);
  Placement all{own.bytes, most_live_bytes(requests, live_ranges_of(requests)), {}, own.moves};
  all.offsets.reserve(distinct.of.size());
  std::vector<int64_t> original(static_cast<size_t>(distinct.requests.count()), -1);
  for (size_t i = 0; i < distinct.of.size(); ++i) {
    const auto number = static_cast<size_t>(distinct.of[i]);
    all.offsets.push_back(own.offsets[number]);
    // Correct for moves: no other request shares the offset of a movable one.
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
