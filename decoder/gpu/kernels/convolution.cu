#include "decoder/gpu/kernels/convolution.h"
#include "decoder/gpu/kernels/kernels.h"

namespace headroom::gpu {
namespace {

constexpr int kThreads = 256;
// Pixels per thread, in one row. They share the loads of the kernel's weights.
constexpr int kPixels = 4;

/// Each thread computes one output channel of kPixels pixels.
template <typename T>
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
  const int first_input = output / (shape.outputs / shape.groups) * inputs,
            first_frame = first_tap_frame(shape, t),
            end_frame = end_tap_frame(shape, t, call.input.region.t.end);
  const T* kernel =
      static_cast<const T*>(call.kernel) +
      ((int64_t{phase} * shape.outputs + output) * shape.frames + first_frame) * rows * columns * inputs;
  // Offsets of the pixels' windows. Pixels beyond the end of the row repeat the last one.
  int64_t own[kPixels];
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const int pixel = column + i < outputs.columns ? i : outputs.columns - 1 - column;
    own[i] = int64_t{pixel} * shape.stride.x * shape.inputs;
  }

  float sums[kPixels] = {};
  for (int frame = first_frame; frame < end_frame; ++frame) {
    for (int y = 0; y < rows; ++y) {
      const T* from = reinterpret_cast<const T*>(pixel_of<Scalars>(
                          call.input, frame_of_tap(shape, t, frame, call.input.region.t.end),
                          outputs.top + row * shape.stride.y + y, outputs.left + column * shape.stride.x)) +
                      first_input;
      for (int x = 0; x < columns; ++x, from += shape.inputs, kernel += inputs) {
        for (int c = 0; c < inputs; ++c) {
          const float factor = to_float(kernel[c]);
#pragma unroll
          for (int i = 0; i < kPixels; ++i) sums[i] = fmaf(to_float(from[own[i] + c]), factor, sums[i]);
        }
      }
    }
  }
  const float bias = to_float(static_cast<const T*>(call.bias)[output]);
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    if (column + i >= outputs.columns) break;
    const int y = outputs.y + row * outputs.step, x = outputs.x + (column + i) * outputs.step;
    std::byte* const to = pixel_of<Scalars>(call.target, t, y, x);
    const float value[1] = {sums[i] + residual_at(call, t, y, x, output) + bias};
    Scalars::store(call.target.dtype, to + output * Scalars::bytes(call.target.dtype), value);
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
  const Launch how{"convolution of single outputs", grid, dim3(kThreads), 0, stream};
  switch (call.input.dtype) {
    case Dtype::fp32:
      return launch(how, convolve_pixels<float>, call);
    case Dtype::fp16:
      return launch(how, convolve_pixels<Half>, call);
    case Dtype::bf16:
      return launch(how, convolve_pixels<Bfloat16>, call);
  }
}

void start(const Convolve& call, StreamHandle stream) {
  if (convolves_by_tensor_cores(call)) {
    convolve_by_tensor_cores(call, stream);
  } else if (convolves_by_tiles(call)) {
    convolve_by_tiles(call, stream);
  } else {
    convolve_plainly(call, stream);
  }
}

}  // namespace headroom::gpu
