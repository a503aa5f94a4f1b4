#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/gpu/placement/buffers.h"
#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {

/// The requests of a pass, numbered anew. Blocks that earlier passes left standing come first.
struct PassRequests {
  size_t begin = 0;                            ///< first event of the pass among those of the decode
  std::vector<size_t> numbers;                 ///< in the decode
  std::vector<Buffer> buffers;                 ///< live between events of this pass
  std::vector<MemoryRequests::Series> series;  ///< numbered as here
  std::vector<int64_t> events;  ///< the number of a request that comes, or the complement of one that goes
  size_t standing = 0;
  int64_t fixed_bytes = 0;  ///< requests of the pass lie behind these bytes
};

/// A decode, pass by pass.
struct RequestsByPass {
  /// Requests that cannot be moved but outlive the pass in which they come. They lie at the beginning of the
  /// reservation, one behind the other, for a whole micro-batch.
  struct Fixed {
    size_t number = 0;
    int64_t offset = 0;
  };
  std::vector<Fixed> fixed;
  std::vector<PassRequests> passes;
  int64_t live_bytes = 0;  ///< most at one time
};

/// Requests without repeats as one pass, in which nothing is moved.
RequestsByPass as_one_pass(const MemoryRequests& all);

/// Splits requests without repeats. One pass has them all where nothing may be moved, or where something that
/// cannot be moved comes in the middle of a micro-batch and outlives its pass.
RequestsByPass by_pass(const MemoryRequests& all);

}  // namespace headroom
