#pragma once

#include <c10/core/Device.h>

#include "decoder/gpu/calls/device_memory.h"

namespace headroom::gpu {

/// One block of a device's memory, from LibTorch's caching allocator in a memory pool of its own.
/// So LibTorch in the same process counts the block and does not reuse it. While the block is held, the
/// allocator cannot reserve more device memory.
class LibtorchMemory final : public DeviceMemory {
 public:
  /// `device` is CUDA's number. It is the process's only one with a context, and current in all calls.
  explicit LibtorchMemory(int device);
  ~LibtorchMemory() override;
  LibtorchMemory(const LibtorchMemory&) = delete;
  LibtorchMemory& operator=(const LibtorchMemory&) = delete;

  std::string name() const override;
  /// Aligned to 2 MiB.
  std::byte* reserve(int64_t bytes) override;
  void release() noexcept override;
  bool watch(AllocatorWatch watch) override;

 private:
  const c10::DeviceIndex device_;
  void* memory_ = nullptr;
  double fraction_before_ = 1;
  bool watching_ = false;
};

}  // namespace headroom::gpu
