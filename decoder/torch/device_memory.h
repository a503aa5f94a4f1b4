#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::gpu {

/// One block of the current device's memory, taken through LibTorch's caching allocator and in a memory pool
/// of its own, so that LibTorch in the same process counts it and gives it to nobody else. While it is held,
/// that allocator takes no more of the device than it has then.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { release(); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Aligned to 2 MiB. Throws LimitExceeded where the device does not have it.
  std::byte* reserve(int64_t bytes);
  void release() noexcept;

 private:
  void* memory_ = nullptr;
  double fraction_before_ = 1;
};

}  // namespace headroom::gpu
