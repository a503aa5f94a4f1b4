#include "decoder/gpu/placement_by_pass.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "decoder/gpu/as_they_come.h"
#include "decoder/gpu/pass_requests.h"
#include "decoder/gpu/placement_as_a_whole.h"
#include "decoder/gpu/rolling_offsets.h"

namespace headroom {
namespace {

/// By pass, where its requests would lie if nothing lay anywhere; empty where that was not looked for yet.
using FoundAnew = std::vector<std::optional<Placement>>;

/// One pass after another, each in no more than `most_bytes` where that can be.
class PlacementByPass {
 public:
  PlacementByPass(const MemoryRequests& all, const RequestsByPass& by_pass, FoundAnew& found_anew,
                  int64_t most_bytes)
      : by_pass_(by_pass),
        found_anew_(found_anew),
        most_bytes_(most_bytes),
        now_(static_cast<size_t>(all.count()), 0) {
    placement_.offsets.resize(now_.size());
  }

  /// Empty where it takes `useless_bytes` or more.
  std::optional<Placement> run(int64_t useless_bytes) {
    const FixedRequests& fixed = by_pass_.fixed;
    for (size_t i = 0; i < fixed.numbers.size(); ++i) placement_.offsets[fixed.numbers[i]] = fixed.offsets[i];
    for (size_t pass = 0; pass < by_pass_.passes.size(); ++pass) {
      const PassRequests& own = by_pass_.passes[pass];
      fixed_bytes_ = by_pass_.fixed_bytes[pass];
      placement_.bytes = std::max(placement_.bytes, fixed_bytes_);
      if (!place_around(own) && !place_anew(own, found_anew_[pass])) return std::nullopt;
      if (placement_.bytes >= useless_bytes) return std::nullopt;
    }
    return std::move(placement_);
  }

 private:
  /// Where what stands lies, above what cannot be moved.
  std::vector<int64_t> held_of(const PassRequests& own) const {
    std::vector<int64_t> held;
    for (size_t i = 0; i < own.standing; ++i) held.push_back(now_[own.numbers[i]] - fixed_bytes_);
    return held;
  }

  /// Places what the pass asks for while what stands stays. False where there is no room.
  bool place_around(const PassRequests& own) {
    const std::vector<int64_t> held = held_of(own);
    for (const bool together : {true, false}) {
      const Placement around = place_as_they_come(own.requests, own.ranges, together, held);
      if (around.bytes + fixed_bytes_ > most_bytes_) continue;
      take(own, around.bytes, above_fixed(around.offsets));
      return true;
    }
    const int64_t so_far = placement_.bytes - fixed_bytes_;
    const std::optional<Placement> around = rolling(own, held, so_far);
    if (!around || around->bytes + fixed_bytes_ > most_bytes_) return false;
    take(own, around->bytes, above_fixed(around->offsets));
    return true;
  }

  /// In what is taken anyhow, or little more than what is live.
  static std::optional<Placement> rolling(const PassRequests& own, const std::vector<int64_t>& held,
                                          int64_t so_far) {
    constexpr int64_t kShares = 4000;
    for (const int64_t share : {0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32}) {
      const int64_t bytes = std::max(own.live_bytes, so_far) + own.live_bytes * share / kShares;
      auto found = place_rolling(own.requests, own.ranges, held, bytes / kOffsetUnit * kOffsetUnit);
      if (found) return found;
    }
    return std::nullopt;
  }

  /// Above what cannot be moved.
  std::vector<int64_t> above_fixed(std::vector<int64_t> offsets) const {
    for (int64_t& offset : offsets) offset += fixed_bytes_;
    return offsets;
  }

  /// Where the requests of a pass are to lie, and the moves that bring what stands there.
  struct Anew {
    int64_t bytes = 0;  ///< above what cannot be moved
    std::vector<int64_t> offsets;
    std::vector<Move> moves;
  };

  bool fits(const Anew& anew) const { return anew.bytes + fixed_bytes_ <= most_bytes_; }

  /// Places all as if nothing lay anywhere, and moves what stands. False where it cannot be moved so.
  bool place_anew(const PassRequests& own, std::optional<Placement>& as_a_whole) {
    std::optional<Anew> best;
    const auto is_better = [&](const Anew& a, const Anew& b) {
      const bool a_fits = fits(a), b_fits = fits(b);
      if (a_fits != b_fits) return a_fits;
      return a_fits ? bytes_of(a.moves) < bytes_of(b.moves) : a.bytes < b.bytes;
    };
    const auto look_at = [&](const Placement& placement) {
      std::optional<Anew> found = moved(own, placement);
      if (found && (!best || is_better(*found, *best))) best = std::move(found);
    };
    if (!as_a_whole) as_a_whole = place_as_a_whole(own.requests, 0, PlacementEffort::little);
    look_at(*as_a_whole);
    const std::vector<int64_t> stacked = stacked_by_end(own.requests, own.ranges, held_of(own));
    if (const auto rolled = rolling(own, stacked, 0)) look_at(*rolled);
    if (!best) return false;
    placement_.moves.insert(placement_.moves.end(), best->moves.begin(), best->moves.end());
    take(own, best->bytes, best->offsets);
    return true;
  }

  std::optional<Anew> moved(const PassRequests& own, const Placement& placement) const {
    Anew anew{placement.bytes, above_fixed(placement.offsets), {}};
    move_few(own, anew.offsets);
    std::vector<StandingBlock> blocks;
    for (size_t i = 0; i < own.standing; ++i) {
      const size_t number = own.numbers[i];
      blocks.push_back({static_cast<int64_t>(number), own.ranges[i].bytes, now_[number], anew.offsets[i]});
    }
    const int64_t end = std::max(placement_.bytes, anew.bytes + fixed_bytes_);
    auto moves = moves_of(std::move(blocks), own.begin, fixed_bytes_, end);
    if (!moves) return std::nullopt;
    anew.moves = std::move(*moves);
    return anew;
  }

  /// Of blocks that stay for the whole pass, those of a size may change places: as many as can stay where
  /// they are.
  void move_few(const PassRequests& own, std::vector<int64_t>& offsets) const {
    std::map<int64_t, std::vector<size_t>> alike;  // by bytes
    for (size_t i = 0; i < own.standing; ++i) {
      if (own.ranges[i].end == std::numeric_limits<int64_t>::max()) alike[own.ranges[i].bytes].push_back(i);
    }
    for (const auto& [bytes, blocks] : alike) {
      std::vector<int64_t> places;
      for (const size_t i : blocks) places.push_back(offsets[i]);
      std::sort(places.begin(), places.end());
      std::vector<size_t> others;
      for (const size_t i : blocks) {
        const auto same = std::lower_bound(places.begin(), places.end(), now_[own.numbers[i]]);
        if (same != places.end() && *same == now_[own.numbers[i]]) {
          offsets[i] = *same;
          places.erase(same);
        } else {
          others.push_back(i);
        }
      }
      for (size_t k = 0; k < others.size(); ++k) offsets[others[k]] = places[k];
    }
  }

  void take(const PassRequests& own, int64_t bytes, const std::vector<int64_t>& offsets) {
    for (size_t i = 0; i < own.numbers.size(); ++i) {
      const size_t number = own.numbers[i];
      now_[number] = offsets[i];
      if (i >= own.standing) placement_.offsets[number] = offsets[i];
    }
    placement_.bytes = std::max(placement_.bytes, bytes + fixed_bytes_);
  }

  const RequestsByPass& by_pass_;
  FoundAnew& found_anew_;
  const int64_t most_bytes_;
  std::vector<int64_t> now_;  ///< offsets of what is live, by request
  int64_t fixed_bytes_ = 0;   ///< of what cannot be moved, below all else of the pass
  Placement placement_;
};

}  // namespace

std::optional<Placement> place_by_pass(const MemoryRequests& requests, int64_t enough_bytes,
                                       int64_t useless_bytes) {
  const std::optional<RequestsByPass> passes = by_pass(requests);
  if (!passes) return std::nullopt;
  constexpr int kMostRounds = 6;
  FoundAnew found_anew(passes->passes.size());
  int64_t most_bytes = enough_bytes;
  // Until what is found is found again where just what it takes is enough.
  for (int round = 0; round < kMostRounds; ++round) {
    auto found = PlacementByPass(requests, *passes, found_anew, most_bytes).run(useless_bytes);
    if (!found || found->bytes <= most_bytes) return found;
    most_bytes = found->bytes;
  }
  return std::nullopt;
}

}  // namespace headroom
