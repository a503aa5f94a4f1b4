#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace headroom::gpu {

/// An exchange of memory between LibTorch's caching allocator and the driver.
struct AllocatorEvent {
  enum class What {
    taken,     ///< the allocator got a segment, or mapped memory into one
    returned,  ///< the allocator gave memory back to the driver
    refused    ///< the driver, or the allocator's own limit, denied the request
  };
  What what{};
  uint64_t address = 0;    ///< of the memory taken or returned
  int64_t bytes = 0;       ///< at least 0; the requested size if refused
  int64_t free_bytes = 0;  ///< free on the device; set only if refused
  friend bool operator==(const AllocatorEvent&, const AllocatorEvent&) = default;
};

/// Called synchronously, from any thread, with the allocator's lock held. It must not allocate or free GPU
/// memory, nor wait for a thread that does. Exceptions that it throws are lost.
using AllocatorWatch = std::function<void(const AllocatorEvent&)>;

}  // namespace headroom::gpu

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

namespace headroom::gpu {

/// The allocator that lends a decode its GPU memory. It is the process's own allocator, so it accounts for
/// the memory and lends it to no one else.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Name and version of the allocator's library: "LibTorch 2.11.0".
  virtual std::string name() const = 0;
  /// LibTorch's allocator serves reservations, whether C++ or Python asks it.
  virtual ReservationSizes reservation_sizes() const { return kLibtorchReservation; }
  /// Returns one block, aligned to 512 bytes and valid until release(). Throws LimitExceeded if the device
  /// has too little memory.
  virtual std::byte* reserve(int64_t bytes) = 0;
  /// The allocator's current CUDA stream; null is CUDA's default stream. Work queued there may still use a
  /// block that the allocator lends.
  virtual void* stream() { return nullptr; }
  /// Gives the block back, once all work on it is done.
  virtual void release() noexcept = 0;

  /// Calls `watch` from now on for all memory that the allocator takes from the driver and returns. An empty
  /// `watch` ends this. Returns false if the allocator cannot be watched.
  virtual bool watch(AllocatorWatch /*watch*/) { return false; }  // NOLINT: overrides keep it
};

}  // namespace headroom::gpu
