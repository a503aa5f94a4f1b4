#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "decoder/gpu/calls/allocator_watch.h"
#include "decoder/gpu/calls/reservation_sizes.h"

namespace headroom::gpu {

/// Whose memory of the GPU a decode takes: the allocator of the process, which counts it and gives it to
/// nobody else.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Whose it is, with its version: "LibTorch 2.11.0".
  virtual std::string name() const = 0;
  /// LibTorch's allocator serves reservations, whether C++ or Python asks it.
  virtual ReservationSizes reservation_sizes() const { return kLibtorchReservation; }
  /// One block, aligned to 512 bytes, until release(). Throws LimitExceeded where the device does not have
  /// it.
  virtual std::byte* reserve(int64_t bytes) = 0;
  /// The lender's current CUDA stream. Work on that stream may still use a block that it lends, and write to
  /// memory that it shows. Null is CUDA's default stream.
  virtual void* stream() { return nullptr; }
  /// Gives the block back, once all work on it is done.
  virtual void release() noexcept = 0;

  /// From here on `watch` is told what that allocator takes of the device and returns to it; an empty one
  /// ends that. False where it cannot be watched.
  virtual bool watch(AllocatorWatch /*watch*/) { return false; }  // NOLINT: overrides keep it
};

}  // namespace headroom::gpu
