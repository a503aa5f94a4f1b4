#pragma once

#include <cstddef>
#include <cstdint>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/host_memory.h"

namespace headroom {

/// Pinned host memory for results that a GPU writes: pieces of the picture, and flags for values that are not
/// finite. The user tracks free buffers and flags.
class OutputStaging {
 public:
  static constexpr int64_t kBuffers = 8;
  static constexpr int64_t kBytes = int64_t{4} << 20;  ///< of one buffer
  static constexpr int64_t kFlags = 256;

  explicit OutputStaging(gpu::Gpu& gpu)
      : memory_(reserve_staging(gpu, kBuffers * kBytes + kFlags * int64_t{sizeof(uint32_t)})) {}

  // `number` is a running number: buffers repeat after kBuffers, flags after kFlags.
  std::byte* buffer(int64_t number) const { return memory_ + number % kBuffers * kBytes; }
  uint32_t* flag(int64_t number) const {
    return reinterpret_cast<uint32_t*>(memory_ + kBuffers * kBytes) + number % kFlags;
  }

 private:
  std::byte* memory_;
};

}  // namespace headroom
