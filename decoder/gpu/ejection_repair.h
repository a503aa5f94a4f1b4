#pragma once

#include <random>
#include <vector>

#include "decoder/gpu/live_range.h"
#include "decoder/gpu/neighbours.h"
#include "decoder/gpu/placement.h"

namespace headroom {

/// Makes a placement smaller, a part of its gaps at a time: whatever lies too high is taken out and put where
/// the least stands in the way, what stood there is taken out, and so on until nothing is left over. Requests
/// that have been in the way of others become dearer to move (guided ejection search, Nagata and Braysy
/// 2009).
class EjectionRepair {
 public:
  /// Both are of the same requests, and must outlive it.
  EjectionRepair(const std::vector<LiveRange>& ranges, const Neighbours& neighbours)
      : ranges_(ranges), neighbours_(neighbours) {}

  /// Stops where `placement` needs `enough_bytes` or less. Deterministic; `enough_bytes` changes nothing but
  /// when it stops.
  void improve(Placement& placement, int64_t enough_bytes);

 private:
  struct Position {
    int64_t offset = 0;
    int64_t price = 0;  ///< of what stands in the way
  };

  /// False where it takes too long; then the offsets are of no use.
  bool repair(std::vector<int64_t>& offsets, int64_t bytes);
  /// Where `request` stands in the way of what is cheapest to move, in so many bytes.
  Position cheapest(size_t request, const std::vector<int64_t>& offsets, int64_t bytes);

  const std::vector<LiveRange>& ranges_;
  const Neighbours& neighbours_;
  std::minstd_rand random_{1};
  std::vector<int64_t> prices_;  ///< of moving each request
  int64_t visits_ = 0;           ///< of neighbours, so far
  /// Where the price of a position changes, by how much.
  struct Change {
    int64_t offset = 0, price = 0;
  };
  std::vector<Change> changes_;  ///< while one request is placed
};

}  // namespace headroom
