#pragma once

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/kernels/language.h"

// Vectorised access to neighbouring channels of one pixel.
namespace headroom::gpu {

/// V values of one type, at most 16 bytes, aligned to their size.
template <typename T, int V>
struct Vectors {
  static constexpr int kValues = V;
  struct Raw {
    uint32_t words[V * sizeof(T) / 4];
  };
  static_assert(sizeof(Raw) == 8 || sizeof(Raw) == 16);

  __device__ static __forceinline__ int32_t bytes(Dtype) { return sizeof(T); }

  __device__ static __forceinline__ Raw load(Dtype, const std::byte* at) {
    if constexpr (sizeof(Raw) == 16) {
      const uint4 words = *in_global(reinterpret_cast<const uint4*>(at));
      return {{words.x, words.y, words.z, words.w}};
    } else {
      const uint2 words = *in_global(reinterpret_cast<const uint2*>(at));
      return {{words.x, words.y}};
    }
  }

  __device__ static __forceinline__ void widen(Dtype, const Raw& raw, float (&values)[V]) {
#pragma unroll
    for (int i = 0; i < V * static_cast<int>(sizeof(T)) / 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        values[i] = float_of(raw.words[i]);
      } else {
        unpacked<T>(raw.words[i], values[2 * i], values[2 * i + 1]);
      }
    }
  }

  __device__ static __forceinline__ void store(Dtype, std::byte* at, const float (&values)[V]) {
    Raw raw;
#pragma unroll
    for (int i = 0; i < V * static_cast<int>(sizeof(T)) / 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        raw.words[i] = bits_of(values[i]);
      } else {
        raw.words[i] = packed<T>(values[2 * i], values[2 * i + 1]);
      }
    }
    if constexpr (sizeof(Raw) == 16) {
      *reinterpret_cast<uint4*>(at) = uint4{raw.words[0], raw.words[1], raw.words[2], raw.words[3]};
    } else {
      *reinterpret_cast<uint2*>(at) = uint2{raw.words[0], raw.words[1]};
    }
  }
};

/// One value of any type.
struct Scalars {
  static constexpr int kValues = 1;
  using Raw = uint32_t;

  __device__ static __forceinline__ int32_t bytes(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

  __device__ static __forceinline__ Raw load(Dtype dtype, const std::byte* at) {
    if (dtype == Dtype::fp32) return *in_global(reinterpret_cast<const uint32_t*>(at));
    return *in_global(reinterpret_cast<const uint16_t*>(at));
  }

  __device__ static __forceinline__ void widen(Dtype dtype, Raw raw, float (&values)[1]) {
    if (dtype == Dtype::fp32) {
      values[0] = float_of(raw);
    } else if (dtype == Dtype::fp16) {
      values[0] = to_float(Half{static_cast<uint16_t>(raw)});
    } else {
      values[0] = to_float(Bfloat16{static_cast<uint16_t>(raw)});
    }
  }

  __device__ static __forceinline__ void store(Dtype dtype, std::byte* at, const float (&values)[1]) {
    if (dtype == Dtype::fp32) {
      *reinterpret_cast<float*>(at) = values[0];
    } else if (dtype == Dtype::fp16) {
      *reinterpret_cast<Half*>(at) = rounded<Half>(values[0]);
    } else {
      *reinterpret_cast<Bfloat16*>(at) = rounded<Bfloat16>(values[0]);
    }
  }
};

/// A single value as fp32.
__device__ __forceinline__ float load_value(Dtype dtype, const std::byte* at) {
  float value[1];
  Scalars::widen(dtype, Scalars::load(dtype, at), value);
  return value[0];
}

template <typename T>
__device__ __forceinline__ bool is_finite(T value) {
  return value - value == 0;
}

/// Loads V neighbours of an fp32 list. If V is a multiple of 4, `from` must be aligned to 16 bytes.
template <int V>
__device__ __forceinline__ void load_floats(const float* from, float (&values)[V]) {
  if constexpr (V % 4 == 0) {
#pragma unroll
    for (int i = 0; i < V / 4; ++i) {
      const uint4 words = reinterpret_cast<const uint4*>(from)[i];
      values[4 * i] = float_of(words.x);
      values[4 * i + 1] = float_of(words.y);
      values[4 * i + 2] = float_of(words.z);
      values[4 * i + 3] = float_of(words.w);
    }
  } else {
    static_assert(V == 1);
    values[0] = from[0];
  }
}

template <class Access>
__device__ __forceinline__ int32_t pixel_bytes(const View& view) {
  return view.channels * Access::bytes(view.dtype);
}

/// Address of a pixel's first channel. The position must be present.
template <class Access>
__device__ __forceinline__ std::byte* pixel_of(const View& view, int32_t t, int32_t y, int32_t x) {
  const int32_t row = y - view.region.y.begin, block = view.blocks == 1 ? 0 : row / view.block_rows;
  const int64_t rows = int64_t{t - view.region.t.begin} * view.block_rows + (row - block * view.block_rows);
  const int64_t pixels = rows * (view.region.x.end - view.region.x.begin) + (x - view.region.x.begin);
  return view.base + view.block_units[block] * kBlockUnit + pixels * pixel_bytes<Access>(view);
}
/// Address of one channel of a pixel. The position must be present.
template <class Access>
__device__ __forceinline__ std::byte* value_of(const View& view, int32_t t, int32_t y, int32_t x,
                                               int32_t channel) {
  return pixel_of<Access>(view, t, y, x) + channel * Access::bytes(view.dtype);
}

}  // namespace headroom::gpu
