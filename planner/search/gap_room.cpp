#include "planner/search/gap_room.h"

#include <algorithm>
#include <optional>

namespace headroom::planner {

/// Half of what is missing at first: another plan's gaps may be smaller.
int64_t GapRoom::share_of(int64_t over) const {
  constexpr int kCareful = 3;
  return std::max<int64_t>(1, narrowed_ < kCareful ? over / 2 : over);
}

void GapRoom::narrow(const PlacedBytes& tried) {
  failed_ = held_back_;
  std::optional<size_t> fullest;
  bool any = false;
  const auto hold_back = [&](size_t pass, int64_t over) {
    held_back_[pass] = std::max(held_back_[pass], limit_bytes_ - tried.live[pass] + share_of(over));
  };
  for (size_t pass = 0; pass < held_back_.size(); ++pass) {
    const int64_t over = tried.reserved[pass] - limit_bytes_;
    if (over <= 0) continue;
    if (!fullest || tried.live[pass] > tried.live[*fullest]) fullest = pass;
    // Where much is free the pass is not what leaves no room.
    if (limit_bytes_ - tried.live[pass] > over) continue;
    hold_back(pass, over);
    any = true;
  }
  if (!any && fullest) hold_back(*fullest, tried.reserved[*fullest] - limit_bytes_);
  ++narrowed_;
}

bool GapRoom::widen() {
  if (held_back_ == failed_) return false;
  for (size_t pass = 0; pass < held_back_.size(); ++pass)
    held_back_[pass] = failed_[pass] + (held_back_[pass] - failed_[pass]) / 2;
  return true;
}

}  // namespace headroom::planner
