#pragma once

#include <cstddef>
#include <cstdint>

#include "decoder/gpu/calls/stream.h"

// Types and constants for both compilers of kernels (decoder/gpu/kernels/language.h).
namespace headroom::gpu {

constexpr uint32_t kAllLanes = 0xffffffff;
constexpr int kWarp = 32;

/// 16-bit storage types.
struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

}  // namespace headroom::gpu
