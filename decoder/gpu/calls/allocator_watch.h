#pragma once

#include <cstdint>
#include <functional>

namespace headroom::gpu {

/// Something that LibTorch's caching allocator did, between itself and the driver.
struct AllocatorEvent {
  enum class What {
    taken,     ///< a segment from the driver, or memory mapped into one
    returned,  ///< to the driver
    refused    ///< by the driver, or for the limit that the allocator has: nothing was taken
  };
  What what{};
  uint64_t address = 0;    ///< of what was taken or returned
  int64_t bytes = 0;       ///< at least 0; of what was refused: asked for
  int64_t free_bytes = 0;  ///< of the device, where it was refused
  friend bool operator==(const AllocatorEvent&, const AllocatorEvent&) = default;
};

/// Called at once, from whatever thread, with the allocator's lock held: it must not ask for the GPU's
/// memory, give any back, or wait for somebody who does. What it throws is lost.
using AllocatorWatch = std::function<void(const AllocatorEvent&)>;

}  // namespace headroom::gpu
