#include "decoder/kernels/gpu/convolution.h"
#include "decoder/kernels/gpu/kernels.h"

namespace headroom::gpu {
namespace {

constexpr int kThreads = 256;
// Pixels of a thread, in one row: they share what is read of the kernel.
constexpr int kPixels = 4;

/// One output channel of a few pixels.
__global__ void __launch_bounds__(kThreads, 2) convolve_pixels(const __grid_constant__ Convolve call) {
  const ConvolutionShape& shape = call.shape;
  const int phases = phases_of(shape), phase = static_cast<int>(blockIdx.z) % phases;
  const int t = call.region.t.begin + static_cast<int>(blockIdx.z) / phases;
  const Outputs outputs = outputs_of(shape, call.region, phase);
  const int64_t number = int64_t{blockIdx.x} * kThreads + threadIdx.x, group = number / shape.outputs;
  const auto output = static_cast<int>(number - group * shape.outputs);
  const int groups_of_row = (outputs.columns + kPixels - 1) / kPixels;
  if (groups_of_row == 0 || group >= int64_t{outputs.rows} * groups_of_row) return;
  const auto row = static_cast<int>(group / groups_of_row);
  const int column = static_cast<int>(group - int64_t{row} * groups_of_row) * kPixels;

  const int rows = tap_rows(shape), columns = tap_columns(shape), inputs = shape.inputs / shape.groups;
  const Dtype dtype = call.input.dtype;
  const int64_t bytes = value_bytes(dtype), pixel_bytes = shape.inputs * bytes;
  const int first_input = output / (shape.outputs / shape.groups) * inputs,
            first_frame = first_tap_frame(shape, t);
  const std::byte* kernel = static_cast<const std::byte*>(call.kernel) +
                            ((int64_t{phase} * shape.outputs + output) * shape.frames + first_frame) * rows *
                                columns * inputs * bytes;
  // The last pixels of a row may not be there; then the last one is made again and again.
  int own[kPixels];
#pragma unroll
  for (int i = 0; i < kPixels; ++i) own[i] = column + i < outputs.columns ? i : outputs.columns - 1 - column;

  float sums[kPixels] = {};
  for (int frame = first_frame; frame < shape.frames; ++frame) {
    for (int y = 0; y < rows; ++y) {
      const std::byte* from = pixel_of<Scalars>(call.input, frame_of_tap(shape, t, frame),
                                                outputs.top + row + y, outputs.left + column) +
                              first_input * bytes;
      for (int x = 0; x < columns; ++x, from += pixel_bytes, kernel += inputs * bytes) {
        for (int c = 0; c < inputs; ++c) {
          const float factor = load_value(dtype, kernel + c * bytes);
#pragma unroll
          for (int i = 0; i < kPixels; ++i)
            sums[i] = fmaf(load_value(dtype, from + own[i] * pixel_bytes + c * bytes), factor, sums[i]);
        }
      }
    }
  }
  const float bias = load_value(dtype, static_cast<const std::byte*>(call.bias) + output * bytes);
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    if (column + i >= outputs.columns) break;
    std::byte* const to = pixel_of<Scalars>(call.target, t, outputs.y + row * outputs.step,
                                            outputs.x + (column + i) * outputs.step);
    const float value[1] = {sums[i] + bias};
    Scalars::store(call.target.dtype, to + output * value_bytes(call.target.dtype), value);
  }
}

}  // namespace

void convolve_plainly(const Convolve& call, StreamHandle stream) {
  int64_t most = 0;
  for (int32_t phase = 0; phase < phases_of(call.shape); ++phase) {
    const Outputs outputs = outputs_of(call.shape, call.region, phase);
    const int64_t groups = int64_t{outputs.rows} * ((outputs.columns + kPixels - 1) / kPixels);
    most = most > groups ? most : groups;
  }
  const int32_t frames = call.region.t.end - call.region.t.begin;
  const dim3 grid(static_cast<uint32_t>((most * call.shape.outputs + kThreads - 1) / kThreads), 1,
                  static_cast<uint32_t>(frames * phases_of(call.shape)));
  launch({"convolution of single outputs", grid, dim3(kThreads), 0, stream}, convolve_pixels, call);
}

void convolve(const Convolve& call, StreamHandle stream) {
  if (convolves_by_tensor_cores(call)) {
    convolve_by_tensor_cores(call, stream);
  } else if (convolves_by_tiles(call)) {
    convolve_by_tiles(call, stream);
  } else {
    convolve_plainly(call, stream);
  }
}

}  // namespace headroom::gpu
