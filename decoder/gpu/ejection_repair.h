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
  EjectionRepair(const std::vector<LiveRange>& ranges, const Neighbours& neighbours);

  /// Stops where `placement` needs `enough_bytes` or less. Deterministic; `enough_bytes` changes nothing but
  /// when it stops. Leaves a reservation of a TiB or more as it is.
  void improve(Placement& placement, int64_t enough_bytes);

 private:
  // From here on all is in units of kOffsetUnit, which halves what is read again and again.
  struct Request {
    int32_t offset = 0, size = 0;
    int32_t price = 1;  ///< of moving it
  };
  struct Position {
    int32_t offset = 0;
    int64_t price = 0;  ///< of what stands in the way
  };

  /// False where it takes too long; then the offsets are of no use.
  bool repair(int32_t size);
  /// Where `request` stands in the way of what is cheapest to move, in a reservation of this size.
  Position cheapest(size_t request, int32_t size);

  const Neighbours& neighbours_;
  std::vector<Request> requests_;
  std::minstd_rand random_{1};
  int64_t visits_ = 0;  ///< of neighbours, so far
  /// Where the price of a position changes, by how much.
  struct Change {
    int32_t offset = 0, price = 0;
  };
  std::vector<Change> changes_, spare_;  ///< while one request is placed
};

}  // namespace headroom
