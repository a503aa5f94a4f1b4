#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::planner {

/// By pass of the space what a plan needs at the most while it runs: what is live, and how far the
/// reservation is used (add_gaps()). 0 where it does not run.
struct PlacedBytes {
  std::vector<int64_t> live, reserved;
};

/// How much less than the limit each pass of a space may use (SearchLimits), so that gaps between what is
/// live find room.
using HeldBack = std::vector<int64_t>;

/// The passes in which a plan's reservation goes beyond the limit while little is free, or the fullest of
/// those in which it does. None of a plan that has room.
std::vector<size_t> crowded_passes(const PlacedBytes& placed, int64_t limit_bytes);

/// `held_back`, and so much more of these passes that they do with less than this plan does: less by `share`
/// of what it is too large by.
HeldBack narrowed(HeldBack held_back, const std::vector<size_t>& passes, const PlacedBytes& placed,
                  int64_t limit_bytes, double share);

}  // namespace headroom::planner
