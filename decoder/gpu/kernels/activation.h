#pragma once

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/kernels/language.h"

namespace headroom::gpu {

__device__ __forceinline__ float silu(float v) {
  return v * reciprocal(1.0f + expf(-v));
}

/// v * tanh(log(1 + e^v)), without the logarithm. For large v, where e^2v overflows fp32, the result equals
/// v.
__device__ __forceinline__ float mish(float v) {
  const float e = expf(v), n = e * (e + 2.0f);
  return v > 20 ? v : v * (n * reciprocal(n + 2.0f));
}

// Comparisons are written so that NaN stays NaN.
template <int V>
__device__ __forceinline__ void activate(Activation activation, float (&values)[V]) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::silu:
#pragma unroll
      for (float& v : values) v = silu(v);
      return;
    case Activation::relu:
#pragma unroll
      for (float& v : values) v = v < 0 ? 0 : v;
      return;
    case Activation::gelu:
#pragma unroll
      for (float& v : values) v = 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
      return;
    case Activation::mish:
#pragma unroll
      for (float& v : values) v = mish(v);
      return;
    case Activation::clamp:
#pragma unroll
      for (float& v : values) v = v < -1 ? -1 : v > 1 ? 1 : v;
      return;
    case Activation::soft_clamp:
#pragma unroll
      for (float& v : values) v = tanhf(v / 3) * 3;
      return;
    case Activation::to_unit:
#pragma unroll
      for (float& v : values) v = (v + 1) / 2;
      return;
  }
}

}  // namespace headroom::gpu
