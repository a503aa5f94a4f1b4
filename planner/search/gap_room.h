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

/// How much less than the limit passes may use, so that gaps between what is live find room. Passes in which
/// the reservation would pass the limit are narrowed down, until a plan is found that has room; then they are
/// widened again, half of the way.
class GapRoom {
 public:
  GapRoom(size_t passes, int64_t limit_bytes)
      : limit_bytes_(limit_bytes), held_back_(passes, 0), failed_(passes, 0) {}

  /// Of the next search (SearchLimits).
  const std::vector<int64_t>& held_back_bytes() const { return held_back_; }
  /// The plan that was found needs more than the limit.
  void narrow(const PlacedBytes& tried);
  /// It has room. False where nothing is held back that could be given back.
  bool widen();

 private:
  int64_t share_of(int64_t over) const;

  int64_t limit_bytes_;
  std::vector<int64_t> held_back_;  ///< of the search to come
  std::vector<int64_t> failed_;     ///< of the last one whose plan had no room
  int narrowed_ = 0;
};

}  // namespace headroom::planner
