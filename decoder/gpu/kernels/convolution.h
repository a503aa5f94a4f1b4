#pragma once

#include <limits>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/kernels/access.h"
#include "decoder/gpu/kernels/language.h"

// Our convolution kernels, and the addressing of taps that they share.
namespace headroom::gpu {

/// Tensor-core kernel. Requires 16-bit values, one group, no stride, a multiple of 8 input channels, and an
/// input of one block.
bool convolves_by_tensor_cores(const Convolve& call);
void convolve_by_tensor_cores(const Convolve& call, StreamHandle stream);

/// Tiled kernel in fp32 arithmetic. Requires one group and an input of one block.
bool convolves_by_tiles(const Convolve& call);
void convolve_by_tiles(const Convolve& call, StreamHandle stream);

/// Fallback: each thread computes a few outputs. Supports every call.
void convolve_plainly(const Convolve& call, StreamHandle stream);

/// Outputs of a frame with the same taps: all of a region or, with upsampling, every second row and column.
struct Outputs {
  int32_t step = 1;               ///< stride in the target's rows and columns
  int32_t y = 0, x = 0;           ///< first output in the target
  int32_t rows = 0, columns = 0;  ///< number of outputs
  int32_t top = 0, left = 0;      ///< start of the first output's window in the input

  __host__ __device__ int64_t count() const { return int64_t{rows} * columns; }
};

__host__ __device__ inline int32_t phases_of(const ConvolutionShape& shape) {
  return shape.upsamples ? 4 : 1;
}
/// Taps of the stored kernel: 2 × 2 if the convolution upsamples.
__host__ __device__ inline int32_t tap_rows(const ConvolutionShape& shape) {
  return shape.upsamples ? 2 : shape.rows;
}
__host__ __device__ inline int32_t tap_columns(const ConvolutionShape& shape) {
  return shape.upsamples ? 2 : shape.columns;
}

__host__ __device__ inline Outputs outputs_of(const ConvolutionShape& shape, const Box& region,
                                              int32_t phase) {
  if (!shape.upsamples) {
    return {1,
            region.y.begin,
            region.x.begin,
            region.y.end - region.y.begin,
            region.x.end - region.x.begin,
            region.y.begin * shape.stride.y - (shape.begins_at_own ? 0 : shape.rows / 2),
            region.x.begin * shape.stride.x - (shape.begins_at_own ? 0 : shape.columns / 2)};
  }
  // Output y repeats input y / 2. The window of an even output begins at y / 2 - 1, of an odd one at y / 2.
  const int32_t row = phase / 2, column = phase % 2;
  const int32_t y = region.y.begin + ((region.y.begin ^ row) & 1),
                x = region.x.begin + ((region.x.begin ^ column) & 1);
  return {2,
          y,
          x,
          (region.y.end - y + 1) / 2,
          (region.x.end - x + 1) / 2,
          (y - row) / 2 - 1 + row,
          (x - column) / 2 - 1 + column};
}

/// Largest number of outputs of a phase in a frame.
inline int64_t most_outputs(const Convolve& call) {
  int64_t most = 0;
  for (int32_t phase = 0; phase < phases_of(call.shape); ++phase) {
    const int64_t count = outputs_of(call.shape, call.region, phase).count();
    most = most > count ? most : count;
  }
  return most;
}

__host__ __device__ inline int32_t frames_before(const ConvolutionShape& shape) {
  return shape.frames - 1 - shape.frames_ahead;
}
/// First frame of the kernel that reads the input for an output in frame `t`. Earlier ones read zeros.
__host__ __device__ inline int32_t first_tap_frame(const ConvolutionShape& shape, int32_t t) {
  if (shape.before_first == BeforeFirst::first_frame) return 0;
  const int32_t missing = frames_before(shape) + 1 - t * shape.stride.t -
                          (shape.before_first == BeforeFirst::zeros_instead_of_first_frame ? 0 : 1);
  return missing < 0 ? 0 : missing < shape.frames ? missing : shape.frames;
}
/// One past the last frame of the kernel that reads the input, whose frames end before `end`, for an output
/// in frame `t`. Later ones read zeros.
__host__ __device__ inline int32_t end_tap_frame(const ConvolutionShape& shape, int32_t t, int32_t end) {
  const int32_t present = end - t * shape.stride.t + frames_before(shape);
  return shape.before_first == BeforeFirst::zeros && present < shape.frames ? present : shape.frames;
}
/// Input frame that kernel frame `tap` reads, from first_tap_frame() to end_tap_frame().
__host__ __device__ inline int32_t frame_of_tap(const ConvolutionShape& shape, int32_t t, int32_t tap,
                                                int32_t end) {
  const int32_t frame = t * shape.stride.t - frames_before(shape) + tap;
  return frame < 0 ? 0 : frame < end ? frame : end - 1;
}

/// Value of the residual at an output; 0 without a residual.
__device__ __forceinline__ float residual_at(const Convolve& call, int32_t t, int32_t y, int32_t x,
                                             int32_t output) {
  if (call.residual.channels == 0) return 0;
  return load_value(call.residual.dtype, value_of<Scalars>(call.residual, t, y, x, output));
}

constexpr int32_t kMostTaps = 256;
__host__ __device__ inline int32_t taps_of(const ConvolutionShape& shape) {
  return shape.frames * tap_rows(shape) * tap_columns(shape);
}

/// Byte offsets at which the taps read for an output in frame `t`, from the first position of its window in
/// the input's first frame. Leaves out taps that read zeros. The input must be one block.
__device__ inline void find_taps(const Convolve& call, int32_t t, int64_t* taps) {
  const ConvolutionShape& shape = call.shape;
  const View& input = call.input;
  const int32_t rows = tap_rows(shape), columns = tap_columns(shape), first = first_tap_frame(shape, t),
                end = end_tap_frame(shape, t, input.region.t.end);
  const int64_t line = input.region.x.end - input.region.x.begin;
  for (auto i = static_cast<int32_t>(threadIdx.x); i < (end - first) * rows * columns; i += blockDim.x) {
    const int32_t frame =
        frame_of_tap(shape, t, first + i / columns / rows, input.region.t.end) - input.region.t.begin;
    taps[i] = ((int64_t{frame} * input.block_rows + i / columns % rows) * line + i % columns) *
              pixel_bytes<Scalars>(input);
  }
}

/// Most outputs for 32-bit indices, with room for a tile behind the last one.
constexpr int64_t kMostOutputs = std::numeric_limits<int32_t>::max() - 1024;

}  // namespace headroom::gpu
