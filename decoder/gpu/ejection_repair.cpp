#include "decoder/gpu/ejection_repair.h"

#include <algorithm>
#include <limits>

#include "decoder/gpu/radix_sort.h"

namespace headroom {
namespace {

// Visits of neighbours, of which a processor makes ten million a second: for one repair of many requests or
// of few, and for all repairs.
constexpr int64_t kMostVisits = 4'000'000, kMostVisitsOfRequest = 10'000, kMostVisitsOfAll = 6'000'000;
constexpr int32_t kTaken = -1;  ///< the offset of what is taken out

int32_t units(int64_t bytes) {
  return static_cast<int32_t>(bytes / kOffsetUnit);
}

}  // namespace

EjectionRepair::EjectionRepair(const std::vector<LiveRange>& ranges, const Neighbours& neighbours)
    : neighbours_(neighbours) {
  requests_.reserve(ranges.size());
  for (const LiveRange& range : ranges) requests_.push_back({.size = units(range.bytes)});
}

void EjectionRepair::improve(Placement& placement, int64_t enough_bytes) {
  constexpr int64_t kGapShare = 5;  // of the gaps that are closed at a time, or half as much where that fails
  if (placement.bytes / kOffsetUnit > std::numeric_limits<int32_t>::max() / 2) return;
  visits_ = 0;
  int64_t halvings = 0;
  while (placement.bytes > enough_bytes && visits_ < kMostVisitsOfAll) {
    const int64_t gaps = placement.bytes - placement.live_bytes;
    const int64_t less = std::max(kOffsetUnit, (gaps / kGapShare >> halvings) / kOffsetUnit * kOffsetUnit);
    for (size_t i = 0; i < requests_.size(); ++i) requests_[i].offset = units(placement.offsets[i]);
    if (repair(units(placement.bytes - less))) {
      placement.bytes -= less;
      for (size_t i = 0; i < requests_.size(); ++i) placement.offsets[i] = requests_[i].offset * kOffsetUnit;
    } else if (less == kOffsetUnit) {
      return;
    } else {
      ++halvings;
    }
  }
}

bool EjectionRepair::repair(int32_t size) {
  const int64_t until = visits_ + std::min(kMostVisits, kMostVisitsOfRequest * std::ssize(requests_));
  std::vector<size_t> out;
  for (size_t i = 0; i < requests_.size(); ++i) {
    requests_[i].price = 1;
    if (requests_[i].offset + requests_[i].size <= size) continue;
    requests_[i].offset = kTaken;
    out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](size_t a, size_t b) { return requests_[a].size < requests_[b].size; });
  while (!out.empty()) {
    if (visits_ > until) return false;
    const size_t number = out.back();
    Request& request = requests_[number];
    out.pop_back();
    const Position position = cheapest(number, size);
    if (position.price > 0) {
      ++request.price;
      for (const int32_t neighbour : neighbours_.of(number)) {
        Request& other = requests_[static_cast<size_t>(neighbour)];
        const bool meets = other.offset != kTaken && other.offset < position.offset + request.size &&
                           other.offset + other.size > position.offset;
        if (!meets) continue;
        other.offset = kTaken;
        out.push_back(static_cast<size_t>(neighbour));
      }
    }
    request.offset = position.offset;
  }
  return true;
}

EjectionRepair::Position EjectionRepair::cheapest(size_t request, int32_t size) {
  const int32_t own = requests_[request].size, last = size - own;
  Position best;
  changes_.clear();
  for (const int32_t neighbour : neighbours_.of(request)) {
    const Request& other = requests_[static_cast<size_t>(neighbour)];
    if (other.offset == kTaken) continue;
    // It stands in the way of positions from the first unit that reaches into it to its end.
    const int32_t first = other.offset - own + 1, end = other.offset + other.size;
    if (first <= 0) {
      best.price += other.price;
    } else if (first <= last) {
      changes_.push_back({first, other.price});
    }
    if (end <= last) changes_.push_back({end, -other.price});
  }
  visits_ += std::ssize(neighbours_.of(request)) + 1;
  radix_sort(changes_, spare_, static_cast<uint64_t>(std::max(0, last)),
             [](const Change& change) { return static_cast<uint64_t>(change.offset); });
  // Among equals one is drawn, of those right behind another request or right before one; without any price
  // the lowest.
  unsigned equals = 1;
  int64_t price = best.price;
  const auto look_at = [&](int32_t offset) {
    if (price < best.price) {
      best = {offset, price};
      equals = 1;
    } else if (price == best.price && price > 0 && random_() % ++equals == 0) {
      best.offset = offset;
    }
  };
  for (size_t i = 0; i < changes_.size() && best.price > 0;) {
    const int32_t offset = changes_[i].offset;
    if (offset > 1) look_at(offset - 1);
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
