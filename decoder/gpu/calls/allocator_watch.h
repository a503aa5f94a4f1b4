#pragma once

#include <cstdint>
#include <functional>

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
