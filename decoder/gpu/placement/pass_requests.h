#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/gpu/placement/buffers.h"
#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {

/// The requests of a pass, renumbered. Live blocks of earlier passes come first.
struct PassRequests {
  size_t begin = 0;                            ///< first event of the pass in the decode
  std::vector<size_t> numbers;                 ///< in the decode
  std::vector<Buffer> buffers;                 ///< live ranges are in events of this pass
  std::vector<MemoryRequests::Series> series;  ///< uses the numbers of this pass
  std::vector<int64_t> events;                 ///< n for request n, ~n for its return
  size_t standing = 0;
  int64_t fixed_bytes = 0;  ///< size of the fixed requests in front of the pass's own
};

/// The requests of a decode, pass by pass.
struct RequestsByPass {
  /// A request that cannot move but outlives its pass. These requests lie contiguously at the beginning of
  /// the reservation, for a whole micro-batch.
  struct Fixed {
    size_t number = 0;
    int64_t offset = 0;
  };
  std::vector<Fixed> fixed;
  std::vector<PassRequests> passes;
  int64_t live_bytes = 0;  ///< peak of live bytes
};

/// All requests as one pass, in which nothing moves. They must have no repeats.
RequestsByPass as_one_pass(const MemoryRequests& all);

/// Splits requests into passes. They must have no repeats. Returns a single pass if nothing may move, or if
/// an immovable request in the middle of a micro-batch outlives its pass.
RequestsByPass by_pass(const MemoryRequests& all);

}  // namespace headroom
