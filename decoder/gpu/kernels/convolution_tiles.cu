#include "decoder/gpu/kernels/convolution.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kChannels = 8;  // channels per stage, all of one tap

/// Tile sizes of a thread block: kPixels × kOutputs values, kOfPixels × kOfOutputs per thread, in vectors of
/// four. Inputs and kernel are loaded in stages into shared memory, one row per channel. While one stage is
/// used, the next is in registers.
template <int kPixels_, int kOutputs_, int kOfPixels_, int kOfOutputs_>
struct Tile {
  static constexpr int kPixels = kPixels_, kOutputs = kOutputs_;
  static constexpr int kOfPixels = kOfPixels_, kOfOutputs = kOfOutputs_;
  static constexpr int kColumns = kOutputs / kOfOutputs;  // of threads
  static_assert(kPixels / kOfPixels * kColumns == kThreads);
  // Distance from one vector of a thread to the next.
  static constexpr int kPixelStep = kPixels / (kOfPixels / 4), kOutputStep = kOutputs / (kOfOutputs / 4);

  // Rows are padded by four floats: threads that write rows four apart avoid bank conflicts.
  static constexpr int kPixelPitch = kPixels + 4, kOutputPitch = kOutputs + 4;
  static constexpr int kKernel = kChannels * kPixelPitch;
  static constexpr int kStageFloats = kKernel + kChannels * kOutputPitch;
  static constexpr int kSharedBytes = 2 * kStageFloats * 4;
};

// A thread's 8 × 8 products take 6 cycles of shared memory for 16 of multiplication. So multiplication is the
// bottleneck.
using Wide = Tile<128, 128, 8, 8>;
// For the last convolution with its three outputs.
using Narrow = Tile<256, 16, 4, 4>;

/// Four channels of a position, or of an output's kernel, zeros behind the last one.
template <bool kInVectors>
__device__ __forceinline__ float4 load_channels(const std::byte* from, Dtype dtype, int channel,
                                                int channels) {
  if constexpr (kInVectors) {
    if (channel >= channels) return {0, 0, 0, 0};
    return *reinterpret_cast<const float4*>(from + channel * 4);
  } else {
    const auto value = [&](int c) {
      return c < channels ? load_value(dtype, from + c * Scalars::bytes(dtype)) : 0.0f;
    };
    return {value(channel), value(channel + 1), value(channel + 2), value(channel + 3)};
  }
}

template <int kPitch>
__device__ __forceinline__ void store_channels(float* to, const float4& values) {
  to[0] = values.x;
  to[kPitch] = values.y;
  to[2 * kPitch] = values.z;
  to[3 * kPitch] = values.w;
}

template <typename Tile, bool kInVectors>
__global__ void __launch_bounds__(kThreads, kInVectors ? 2 : 1)
    convolve_in_fp32(const __grid_constant__ Convolve call) {
  float* const stages = shared_memory<float>();
  const ConvolutionShape& shape = call.shape;
  const int thread = static_cast<int>(threadIdx.x);
  const int phases = phases_of(shape), phase = static_cast<int>(blockIdx.z) % phases;
  const int t = call.region.t.begin + static_cast<int>(blockIdx.z) / phases;
  const Outputs outputs = outputs_of(shape, call.region, phase);
  const int count = outputs.rows * outputs.columns;
  const auto output_tiles = static_cast<uint32_t>((shape.outputs + Tile::kOutputs - 1) / Tile::kOutputs);
  const int first_output = static_cast<int>(blockIdx.x % output_tiles) * Tile::kOutputs;
  const int first_pixel = static_cast<int>(blockIdx.x / output_tiles) * Tile::kPixels;
  if (first_pixel >= count) return;

  // Each thread copies four channels of every 128th row of a stage.
  constexpr int kRowsAtOnce = kThreads / (kChannels / 4);
  constexpr int kPixelRows = Tile::kPixels / kRowsAtOnce,
                kOutputRows = (Tile::kOutputs + kRowsAtOnce - 1) / kRowsAtOnce;
  const int row = thread / (kChannels / 4), column = thread % (kChannels / 4) * 4;
  const Dtype dtype = call.input.dtype;
  const int frame_taps = tap_rows(shape) * tap_columns(shape),
            first_tap = first_tap_frame(shape, t) * frame_taps,
            taps = end_tap_frame(shape, t, call.input.region.t.end) * frame_taps - first_tap;
  const auto of_tap = static_cast<int32_t>(shape.inputs * Scalars::bytes(dtype));  // bytes of the kernel
  int64_t* const of_input = reinterpret_cast<int64_t*>(stages + 2 * Tile::kStageFloats);
  find_taps(call, t, of_input);
  __syncthreads();
  const std::byte *pixels[kPixelRows], *kernels[kOutputRows];
#pragma unroll
  for (int i = 0; i < kPixelRows; ++i) {
    const int own = first_pixel + row + i * kRowsAtOnce, n = own < count ? own : count - 1;
    pixels[i] = pixel_of<Scalars>(call.input, call.input.region.t.begin,
                                  outputs.top + n / outputs.columns * shape.stride.y,
                                  outputs.left + n % outputs.columns * shape.stride.x);
  }
#pragma unroll
  for (int i = 0; i < kOutputRows; ++i) {
    const int own = first_output + row + i * kRowsAtOnce,
              output = own < shape.outputs ? own : shape.outputs - 1;
    kernels[i] = static_cast<const std::byte*>(call.kernel) +
                 ((int64_t{phase} * shape.outputs + output) * taps_of(shape) + first_tap) * of_tap;
  }

  // The next stage to load: kChannels channels of one tap. All taps come before the next channels.
  int channel = column, tap = 0, slot = 0;
  float4 loaded_pixels[kPixelRows], loaded_kernel[kOutputRows];
  const auto load_next = [&] {
    const int64_t offset = of_input[tap];
#pragma unroll
    for (int i = 0; i < kPixelRows; ++i)
      loaded_pixels[i] = load_channels<kInVectors>(pixels[i] + offset, dtype, channel, shape.inputs);
#pragma unroll
    for (int i = 0; i < kOutputRows; ++i)
      loaded_kernel[i] =
          load_channels<kInVectors>(kernels[i] + int64_t{tap} * of_tap, dtype, channel, shape.inputs);
    if (++tap == taps) tap = 0, channel += kChannels;
  };
  const auto store_loaded = [&] {
    float* const stage = stages + slot * Tile::kStageFloats;
#pragma unroll
    for (int i = 0; i < kPixelRows; ++i)
      store_channels<Tile::kPixelPitch>(stage + column * Tile::kPixelPitch + row + i * kRowsAtOnce,
                                        loaded_pixels[i]);
#pragma unroll
    for (int i = 0; i < kOutputRows; ++i) {
      if (Tile::kOutputs % kRowsAtOnce != 0 && row + i * kRowsAtOnce >= Tile::kOutputs) break;
      store_channels<Tile::kOutputPitch>(
          stage + Tile::kKernel + column * Tile::kOutputPitch + row + i * kRowsAtOnce, loaded_kernel[i]);
    }
  };

  const int own_pixel = thread / Tile::kColumns * 4, own_output = thread % Tile::kColumns * 4;
  // Threads beyond the last position or output only copy.
  const bool multiplies = first_pixel + own_pixel < count && first_output + own_output < shape.outputs;
  float sums[Tile::kOfPixels][Tile::kOfOutputs] = {};
  const int steps = (shape.inputs + kChannels - 1) / kChannels * taps;
  if (steps > 0) {
    load_next();
    store_loaded();
    __syncthreads();
  }
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) load_next();
    const float* const stage = stages + slot * Tile::kStageFloats;
    if (multiplies) {
#pragma unroll
      for (int k = 0; k < kChannels; ++k) {
        float a[Tile::kOfPixels], b[Tile::kOfOutputs];
#pragma unroll
        for (int i = 0; i < Tile::kOfPixels; i += 4) {
          const float4 vector = *reinterpret_cast<const float4*>(stage + k * Tile::kPixelPitch +
                                                                 i / 4 * Tile::kPixelStep + own_pixel);
          a[i] = vector.x, a[i + 1] = vector.y, a[i + 2] = vector.z, a[i + 3] = vector.w;
        }
#pragma unroll
        for (int j = 0; j < Tile::kOfOutputs; j += 4) {
          const float4 vector = *reinterpret_cast<const float4*>(
              stage + Tile::kKernel + k * Tile::kOutputPitch + j / 4 * Tile::kOutputStep + own_output);
          b[j] = vector.x, b[j + 1] = vector.y, b[j + 2] = vector.z, b[j + 3] = vector.w;
        }
#pragma unroll
        for (int i = 0; i < Tile::kOfPixels; ++i) {
#pragma unroll
          for (int j = 0; j < Tile::kOfOutputs; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
      }
    }
    slot = 1 - slot;
    if (step + 1 < steps) store_loaded();
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < Tile::kOfPixels; ++i) {
    const int n = first_pixel + i / 4 * Tile::kPixelStep + own_pixel + i % 4;
    if (n >= count) continue;
    const int y = outputs.y + n / outputs.columns * outputs.step,
              x = outputs.x + n % outputs.columns * outputs.step;
    std::byte* const to = pixel_of<Scalars>(call.target, t, y, x);
#pragma unroll
    for (int j = 0; j < Tile::kOfOutputs; ++j) {
      const int output = first_output + j / 4 * Tile::kOutputStep + own_output + j % 4;
      if (output >= shape.outputs) continue;
      const float bias =
          load_value(dtype, static_cast<const std::byte*>(call.bias) + output * Scalars::bytes(dtype));
      const float value[1] = {sums[i][j] + residual_at(call, t, y, x, output) + bias};
      Scalars::store(call.target.dtype, to + output * Scalars::bytes(call.target.dtype), value);
    }
  }
}

template <typename Tile>
void convolve_in(const Convolve& call, StreamHandle stream) {
  const int64_t tiles = (most_outputs(call) + Tile::kPixels - 1) / Tile::kPixels *
                        ((call.shape.outputs + Tile::kOutputs - 1) / Tile::kOutputs);
  const int32_t frames = call.region.t.end - call.region.t.begin;
  const dim3 grid(static_cast<uint32_t>(tiles), 1, static_cast<uint32_t>(frames * phases_of(call.shape)));
  const size_t shared_bytes = Tile::kSharedBytes + static_cast<size_t>(taps_of(call.shape)) * sizeof(int64_t);
  const Launch how{"convolution in fp32", grid, dim3(kThreads), shared_bytes, stream};
  const bool in_vectors =
      call.input.dtype == Dtype::fp32 && takes_vectors(call.input, 4) && takes_vectors(call.kernel);
  in_vectors ? launch(how, convolve_in_fp32<Tile, true>, call)
             : launch(how, convolve_in_fp32<Tile, false>, call);
}

}  // namespace

bool convolves_by_tiles(const Convolve& call) {
  return call.shape.groups == 1 && call.input.blocks == 1 && taps_of(call.shape) <= kMostTaps &&
         most_outputs(call) <= kMostOutputs;
}

void convolve_by_tiles(const Convolve& call, StreamHandle stream) {
  call.shape.outputs <= Narrow::kOutputs ? convolve_in<Narrow>(call, stream)
                                         : convolve_in<Wide>(call, stream);
}

}  // namespace headroom::gpu
