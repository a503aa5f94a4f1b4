#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "decoder/gpu/calls/allocator_watch.h"
#include "decoder/gpu/calls/reservation_sizes.h"

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
