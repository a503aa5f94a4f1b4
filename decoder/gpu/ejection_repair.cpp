#include "decoder/gpu/ejection_repair.h"

#include <algorithm>

namespace headroom {
namespace {

// Visits of neighbours, of which a processor makes ten million a second: for one repair of many requests or
// of few, and for all repairs.
constexpr int64_t kMostVisits = 4'000'000, kMostVisitsOfRequest = 10'000, kMostVisitsOfAll = 6'000'000;
constexpr int64_t kTaken = -1;  ///< the offset of what is taken out

}  // namespace

void EjectionRepair::improve(Placement& placement, int64_t enough_bytes) {
  constexpr int64_t kGapShare = 5;  // of the gaps that are closed at a time, or half as much where that fails
  visits_ = 0;
  int64_t halvings = 0;
  while (placement.bytes > enough_bytes && visits_ < kMostVisitsOfAll) {
    const int64_t gaps = placement.bytes - placement.live_bytes;
    const int64_t less = std::max(kOffsetUnit, (gaps / kGapShare >> halvings) / kOffsetUnit * kOffsetUnit);
    std::vector<int64_t> offsets = placement.offsets;
    if (repair(offsets, placement.bytes - less)) {
      placement.bytes -= less;
      placement.offsets = std::move(offsets);
    } else if (less == kOffsetUnit) {
      return;
    } else {
      ++halvings;
    }
  }
}

bool EjectionRepair::repair(std::vector<int64_t>& offsets, int64_t bytes) {
  const int64_t until = visits_ + std::min(kMostVisits, kMostVisitsOfRequest * std::ssize(ranges_));
  prices_.assign(ranges_.size(), 1);
  std::vector<size_t> out;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (offsets[i] + ranges_[i].bytes <= bytes) continue;
    offsets[i] = kTaken;
    out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](size_t a, size_t b) { return ranges_[a].bytes < ranges_[b].bytes; });
  while (!out.empty()) {
    if (visits_ > until) return false;
    const size_t request = out.back();
    out.pop_back();
    const Position position = cheapest(request, offsets, bytes);
    if (position.price > 0) {
      ++prices_[request];
      for (const int32_t number : neighbours_.of(request)) {
        const auto other = static_cast<size_t>(number);
        const bool meets = offsets[other] != kTaken &&
                           offsets[other] < position.offset + ranges_[request].bytes &&
                           offsets[other] + ranges_[other].bytes > position.offset;
        if (!meets) continue;
        offsets[other] = kTaken;
        out.push_back(other);
      }
    }
    offsets[request] = position.offset;
  }
  return true;
}

EjectionRepair::Position EjectionRepair::cheapest(size_t request, const std::vector<int64_t>& offsets,
                                                  int64_t bytes) {
  const int64_t own = ranges_[request].bytes, last = bytes - own;
  Position best;
  changes_.clear();
  for (const int32_t number : neighbours_.of(request)) {
    const auto other = static_cast<size_t>(number);
    if (offsets[other] == kTaken) continue;
    // It stands in the way of positions from the first unit that reaches into it to its end.
    const int64_t first = offsets[other] - own + kOffsetUnit, end = offsets[other] + ranges_[other].bytes;
    if (first <= 0) {
      best.price += prices_[other];
    } else if (first <= last) {
      changes_.push_back({first, prices_[other]});
    }
    if (end <= last) changes_.push_back({end, -prices_[other]});
  }
  visits_ += std::ssize(neighbours_.of(request)) + 1;
  std::sort(changes_.begin(), changes_.end(),
            [](const Change& a, const Change& b) { return a.offset < b.offset; });
  // Among equals one is drawn, of those right behind another request or right before one; without any price
  // the lowest.
  unsigned equals = 1;
  int64_t price = best.price;
  const auto look_at = [&](int64_t offset) {
    if (price < best.price) {
      best = {offset, price};
      equals = 1;
    } else if (price == best.price && price > 0 && random_() % ++equals == 0) {
      best.offset = offset;
    }
  };
  for (size_t i = 0; i < changes_.size() && best.price > 0;) {
    const int64_t offset = changes_[i].offset;
    if (offset > kOffsetUnit) look_at(offset - kOffsetUnit);
    bool ends = false;
    for (; i < changes_.size() && changes_[i].offset == offset; ++i) {
      price += changes_[i].price;
      ends = ends || changes_[i].price < 0;
    }
    if (ends) look_at(offset);
  }
  if (best.price > 0) look_at(last);
  return best;
}

}  // namespace headroom
