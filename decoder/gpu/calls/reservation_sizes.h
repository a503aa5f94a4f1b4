#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom {

/// Sizes that an allocator can reserve on a GPU. The default allows every size.
struct ReservationSizes {
  int64_t page_bytes = 1;   ///< a reservation is a multiple of this
  int64_t least_bytes = 0;  ///< the smallest reservation, a multiple of `page_bytes`

  /// Bytes of the card's memory that a reservation of `bytes` uses.
  int64_t taken_bytes(int64_t bytes) const {
    return std::max(least_bytes, (bytes + page_bytes - 1) / page_bytes * page_bytes);
  }
  /// The largest reservation within a limit; 0 if the limit is below the smallest one.
  int64_t most_within(int64_t limit_bytes) const {
    return limit_bytes < least_bytes ? 0 : limit_bytes / page_bytes * page_bytes;
  }
};

/// LibTorch's caching allocator. The driver hands out pages of 2 MiB. Below 10 MiB the allocator takes a
/// segment of 20 MiB, so a reservation is never smaller than 10 MiB: from there on a segment is as large as
/// its block.
constexpr ReservationSizes kLibtorchReservation{int64_t{2} << 20, int64_t{10} << 20};

}  // namespace headroom
