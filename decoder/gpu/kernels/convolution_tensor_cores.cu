#include "decoder/gpu/kernels/convolution.h"
#include "decoder/gpu/kernels/fragments.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kPitch = 64, kChannels = kPitch / 2;  // channels per stage, all of one tap

/// Tile sizes of a thread block: kPixels × kOutputs values, kWarpPixels × kWarpOutputs per warp. Inputs and
/// kernel are loaded into shared memory in stages.
template <int kPixels_, int kOutputs_, int kWarpPixels_, int kWarpOutputs_, int kBlocks_>
struct Tile {
  static constexpr int kPixels = kPixels_, kOutputs = kOutputs_;
  static constexpr int kWarpPixels = kWarpPixels_, kWarpOutputs = kWarpOutputs_;
  static constexpr int kBlocks = kBlocks_;  ///< resident blocks per multiprocessor that registers allow
  static constexpr int kStages = 4;

  static constexpr int kWarpColumns = kOutputs / kWarpOutputs;
  static_assert(kPixels / kWarpPixels * kWarpColumns * kWarp == kThreads);
  static constexpr int kRows = kWarpPixels / 16, kColumns = kWarpOutputs / 8;  // products per warp
  static constexpr int kKernel = kPixels * kPitch, kStageBytes = (kPixels + kOutputs) * kPitch;
  static constexpr int kSharedBytes = kStages * kStageBytes;
};

// Roofline for a stage of 256 × 128 × 32, in cycles of an H200 multiprocessor:
// - Multiplication: 820, at the 62 % of the tensor rate that mma reaches.
// - Shared memory: 700. A warp's 64 × 64 products of depth 16 read 4 KiB of fragments.
// - L2 cache: 880 for 24 KiB at 28 bytes a cycle.
// So at best it reaches 0.58 of the tensor rate. On an A100 the three are 1020, 700 and 520. With 128 results
// per thread, registers allow one block per multiprocessor. Four stages of 24 KiB just fit into 99 KiB.
using Large = Tile<256, 128, 64, 64, 1>;
// For too few pixels or outputs to fill large tiles.
using Small = Tile<128, 64, 32, 32, 2>;
// For the last convolution with its three outputs. Loading inputs dominates, so tiles are only as wide as one
// product.
using Narrow = Tile<256, 16, 32, 16, 2>;

template <typename T, typename Tile>
__global__ void __launch_bounds__(kThreads, Tile::kBlocks)
    convolve_tile(const __grid_constant__ Convolve call) {
  std::byte* const stages = shared_memory<std::byte>();
  const ConvolutionShape& shape = call.shape;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = lane_of(threadIdx.x);
  const int phases = phases_of(shape), phase = static_cast<int>(blockIdx.z) % phases;
  const int t = call.region.t.begin + static_cast<int>(blockIdx.z) / phases;
  const Outputs outputs = outputs_of(shape, call.region, phase);
  const int count = outputs.rows * outputs.columns;
  const auto output_tiles = static_cast<uint32_t>((shape.outputs + Tile::kOutputs - 1) / Tile::kOutputs);
  const int first_output = static_cast<int>(blockIdx.x % output_tiles) * Tile::kOutputs;
  const int first_pixel = static_cast<int>(blockIdx.x / output_tiles) * Tile::kPixels;
  if (first_pixel >= count) return;

  // Each thread copies one chunk of every 64th row of a stage.
  constexpr int kRowsAtOnce = kThreads / 4;
  const int row = thread / 4, chunk = thread % 4;
  const int frame_taps = tap_rows(shape) * tap_columns(shape),
            first_tap = first_tap_frame(shape, t) * frame_taps,
            taps = end_tap_frame(shape, t, call.input.region.t.end) * frame_taps - first_tap;
  const int of_tap = shape.inputs * 2;  // bytes of the kernel
  int64_t* const of_input = reinterpret_cast<int64_t*>(stages + Tile::kSharedBytes);
  find_taps(call, t, of_input);
  __syncthreads();
  const std::byte *pixels[Tile::kPixels / kRowsAtOnce], *kernel = static_cast<const std::byte*>(call.kernel);
#pragma unroll
  for (int i = 0; i < Tile::kPixels / kRowsAtOnce; ++i) {
    const int own = first_pixel + row + i * kRowsAtOnce, n = own < count ? own : count - 1;
    pixels[i] = pixel_of<Scalars>(call.input, call.input.region.t.begin, outputs.top + n / outputs.columns,
                                  outputs.left + n % outputs.columns) +
                chunk * 16;
  }
  const int64_t output_bytes = int64_t{taps_of(shape)} * of_tap;
  kernel +=
      (int64_t{phase} * shape.outputs + first_output + row) * output_bytes + first_tap * of_tap + chunk * 16;

  // The next stage to copy: kChannels channels of one tap. All taps come before the next channels.
  int channel = 0, tap = taps > 0 ? 0 : -1, slot = 0;
  const auto copy_next = [&] {
    if (channel < shape.inputs && tap >= 0) {
      std::byte* const stage = stages + slot * Tile::kStageBytes + chunk_offset<kPitch>(row, chunk);
      const bool present = channel + chunk * 8 < shape.inputs;
      const int64_t offset = of_input[tap] + channel * 2;
#pragma unroll
      for (int i = 0; i < Tile::kPixels / kRowsAtOnce; ++i)
        cp_async_16(stage + i * kRowsAtOnce * kPitch, pixels[i] + offset, present);
      const std::byte* from = kernel + int64_t{tap} * of_tap + channel * 2;
#pragma unroll
      for (int i = 0; i < Tile::kOutputs; i += kRowsAtOnce, from += kRowsAtOnce * output_bytes) {
        if (Tile::kOutputs % kRowsAtOnce != 0 && row + i >= Tile::kOutputs) break;
        const bool there = present && first_output + row + i < shape.outputs;
        cp_async_16(stage + Tile::kKernel + i * kPitch, there ? from : kernel, there);
      }
      if (++tap == taps) tap = 0, channel += kChannels;
    }
    cp_async_commit();  // even if empty: cp_async_wait counts groups
    slot = slot + 1 == Tile::kStages ? 0 : slot + 1;
  };
#pragma unroll
  for (int i = 0; i < Tile::kStages - 1; ++i) copy_next();

  const int own_pixel = warp / Tile::kWarpColumns * Tile::kWarpPixels;
  const int own_output = warp % Tile::kWarpColumns * Tile::kWarpOutputs;
  const int pixel_offset = a_offset<kPitch>(own_pixel, 0), output_offset = b_offset<kPitch>(own_output, 0);
  uint32_t a[2][Tile::kRows][4], b[2][Tile::kColumns][2];
  float sums[Tile::kRows][Tile::kColumns][4] = {};
  int used = 0;
  const auto load = [&](int half) {
    const std::byte* const stage = stages + used * Tile::kStageBytes;
#pragma unroll
    for (int i = 0; i < Tile::kRows; ++i)
      ldmatrix_x4(a[half][i], stage + moved<kPitch>(pixel_offset, i * 16, half * 2));
#pragma unroll
    for (int j = 0; j < Tile::kColumns; j += 2) {
      load_pair(b[half][j], b[half][j + 1],
                stage + Tile::kKernel + moved<kPitch>(output_offset, j * 8, half * 2));
    }
  };
  const auto multiply = [&](int half) {
#pragma unroll
    for (int i = 0; i < Tile::kRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kColumns; ++j) mma_m16n8k16<T>(sums[i][j], a[half][i], b[half][j]);
    }
  };
  const auto wait_for_next = [&] {
    cp_async_wait<Tile::kStages - 2>();
    __syncthreads();
  };

  // Fragments are loaded while the previous ones are multiplied: the second half of a stage, then the first
  // half of the next. After the last stage the loaded values are unused.
  const int steps = (shape.inputs + kChannels - 1) / kChannels * taps;
  wait_for_next();
  load(0);
  for (int step = 0; step < steps; ++step) {
    load(1);
    copy_next();
    multiply(0);
    wait_for_next();
    used = used + 1 == Tile::kStages ? 0 : used + 1;
    load(0);
    multiply(1);
  }

  const bool in_pairs = shape.outputs % 2 == 0;
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int n = first_pixel + own_pixel + i * 16 + h * 8 + lane / 4;
      if (n >= count) continue;
      const int y = outputs.y + n / outputs.columns * outputs.step,
                x = outputs.x + n % outputs.columns * outputs.step;
      std::byte* const to = pixel_of<Scalars>(call.target, t, y, x);
#pragma unroll
      for (int j = 0; j < Tile::kColumns; ++j) {
        const int output = first_output + own_output + j * 8 + lane % 4 * 2;
        if (output >= shape.outputs) break;
        const T* const bias = static_cast<const T*>(call.bias) + output;
        T* const own = reinterpret_cast<T*>(to) + output;
        const bool has_second = output + 1 < shape.outputs;
        const float first = sums[i][j][2 * h] + residual_at(call, t, y, x, output) + to_float(bias[0]);
        float second = 0;
        if (has_second)
          second = sums[i][j][2 * h + 1] + residual_at(call, t, y, x, output + 1) + to_float(bias[1]);
        if (in_pairs) {
          *reinterpret_cast<uint32_t*>(own) = packed<T>(first, second);
        } else {
          own[0] = rounded<T>(first);
          if (has_second) own[1] = rounded<T>(second);
        }
      }
    }
  }
}

template <typename Tile>
int64_t tiles_of(const Convolve& call) {
  return (most_outputs(call) + Tile::kPixels - 1) / Tile::kPixels *
         ((call.shape.outputs + Tile::kOutputs - 1) / Tile::kOutputs);
}

template <typename T, typename Tile>
void convolve_in(const Convolve& call, StreamHandle stream) {
  const int32_t frames = call.region.t.end - call.region.t.begin;
  const dim3 grid(static_cast<uint32_t>(tiles_of<Tile>(call)), 1,
                  static_cast<uint32_t>(frames * phases_of(call.shape)));
  const size_t shared_bytes = Tile::kSharedBytes + static_cast<size_t>(taps_of(call.shape)) * sizeof(int64_t);
  launch({"convolution", grid, dim3(kThreads), shared_bytes, stream}, convolve_tile<T, Tile>, call);
}

template <typename T>
void convolve_in_dtype(const Convolve& call, StreamHandle stream) {
  const int64_t times = int64_t{call.region.t.end - call.region.t.begin} * phases_of(call.shape);
  if (call.shape.outputs <= Narrow::kOutputs) {
    convolve_in<T, Narrow>(call, stream);
  } else if (call.shape.outputs <= Small::kOutputs || tiles_of<Large>(call) * times < multiprocessors()) {
    convolve_in<T, Small>(call, stream);
  } else {
    convolve_in<T, Large>(call, stream);
  }
}

}  // namespace

bool convolves_by_tensor_cores(const Convolve& call) {
  const Dtype dtype = call.input.dtype;
  return dtype != Dtype::fp32 && call.target.dtype == dtype && call.shape.groups == 1 &&
         !call.shape.strided() && call.input.blocks == 1 && takes_vectors(call.input, 8) &&
         takes_vectors(call.kernel) && taps_of(call.shape) <= kMostTaps && most_outputs(call) <= kMostOutputs;
}

void convolve_by_tensor_cores(const Convolve& call, StreamHandle stream) {
  if (call.input.dtype == Dtype::fp16) {
    convolve_in_dtype<Half>(call, stream);
  } else {
    convolve_in_dtype<Bfloat16>(call, stream);
  }
}

}  // namespace headroom::gpu
