#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom {

/// The sizes that an allocator has for one reservation of a GPU's memory. The default has every size.
struct ReservationSizes {
  int64_t page_bytes = 1;   ///< a reservation is a multiple of this
  int64_t least_bytes = 0;  ///< the smallest reservation, a multiple of `page_bytes`

  /// Bytes that the card gives up for a reservation of `bytes`.
  int64_t taken_bytes(int64_t bytes) const {
    return std::max(least_bytes, (bytes + page_bytes - 1) / page_bytes * page_bytes);
  }
  /// The largest reservation within a limit; 0 where the limit is below the smallest one.
  int64_t most_within(int64_t limit_bytes) const {
    return limit_bytes < least_bytes ? 0 : limit_bytes / page_bytes * page_bytes;
  }
};

/// LibTorch's caching allocator. The driver hands out pages of 2 MiB. Below 10 MiB the allocator takes a
/// segment of 20 MiB, so a reservation is never smaller than 10 MiB: from there on a segment is as large as
/// its block.
constexpr ReservationSizes kLibtorchReservation{int64_t{2} << 20, int64_t{10} << 20};

}  // namespace headroom
