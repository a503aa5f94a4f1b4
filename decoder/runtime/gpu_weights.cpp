#include "decoder/runtime/gpu_weights.h"

#include <algorithm>
#include <cstring>

#include "decoder/kernels/packing.h"
#include "decoder/kernels/storage.h"
#include "decoder/plan/gpu_memory.h"

namespace headroom {
namespace {

/// Values on their way to the GPU, rounded to a dtype, through pieces of pinned memory.
class Sending {
 public:
  Sending(gpu::Gpu& gpu, PinnedStaging& staging) : gpu_(gpu), staging_(staging) {}

  void send(const float* values, int64_t count, Dtype dtype, std::byte* to) {
    const int64_t piece = PinnedStaging::kBytes / bytes_per_element(dtype);
    for (int64_t i = 0; i < count; i += piece) {
      const int64_t now = std::min(piece, count - i), bytes = now * bytes_per_element(dtype);
      std::byte* through = staging_.next();
      if (dtype == Dtype::fp32) {
        std::memcpy(through, values + i, static_cast<size_t>(bytes));
      } else {
        kernels::narrow(dtype, values + i, through, now);
      }
      gpu_.copy(gpu::Stream::compute, to + i * bytes_per_element(dtype), through, bytes);
      staging_.used();
    }
  }

 private:
  gpu::Gpu& gpu_;
  PinnedStaging& staging_;
};

/// Value of one tap, input and output in the matrices of one group.
float packed_value(const KernelShape& shape, const float* matrix, int64_t input, int64_t output) {
  return matrix[kernels::panel_offset(shape, output) + input * kernels::panel_width(shape, output)];
}

/// A kernel packed for this machine, in the order [phase][outputs][frames][rows][columns][inputs].
std::vector<float> gpu_kernel(const PackedKernel& packed) {
  const KernelShape& shape = packed.shape;
  std::vector<float> kernel;
  if (shape.depthwise()) {
    const int64_t taps = shape.rows * shape.columns;
    for (int64_t output = 0; output < shape.outputs; ++output) {
      for (int64_t tap = 0; tap < taps; ++tap)
        kernel.push_back(packed.values[tap * shape.padded_outputs() + output]);
    }
    return kernel;
  }
  const KernelShape group = shape.groups == 1 ? shape : shape.of_group();
  const int64_t matrices = group.frame_matrices(ConvolutionForm::direct);
  // Over upsampling the matrices are those of rows and columns of taps, two of each of two phases.
  const int64_t phases = shape.upsamples ? 2 : 1, columns = group.direct_columns();
  const int64_t own_rows = group.direct_rows() / phases, own_columns = columns / phases;
  kernel.reserve(static_cast<size_t>(shape.outputs * shape.frames * matrices * group.inputs));
  for (int64_t phase = 0; phase < phases * phases; ++phase) {
    for (int64_t output = 0; output < shape.outputs; ++output) {
      const float* of_group = packed.values + output / group.outputs * group.floats(ConvolutionForm::direct);
      for (int64_t frame = 0; frame < shape.frames; ++frame) {
        for (int64_t tap = 0; tap < own_rows * own_columns; ++tap) {
          const int64_t row = phase / phases * own_rows + tap / own_columns;
          const int64_t column = phase % phases * own_columns + tap % own_columns;
          const float* matrix =
              of_group + (frame * matrices + row * columns + column) * group.matrix_floats();
          for (int64_t input = 0; input < group.inputs; ++input)
            kernel.push_back(packed_value(group, matrix, input, output % group.outputs));
        }
      }
    }
  }
  return kernel;
}

}  // namespace

GpuWeights::GpuWeights(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype,
                       const ParameterSource& source, GpuMemory& memory, gpu::Gpu* gpu,
                       PinnedStaging* staging, const std::function<void(double)>& progress)
    : ops_(graph.ops().size()) {
  int64_t bytes = 0;
  for (OpId op : operations) bytes += gpu::parameter_bytes(graph, graph.op(op), dtype);
  slab_ = memory.allocate(bytes, Arena::End::high);
  if (staging == nullptr) return;
  Sending sending(*gpu, *staging);
  auto* next = static_cast<std::byte*>(slab_.get());
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    GpuOpWeights& weights = ops_[index(operations[i])];
    const int64_t channels = graph.tensor(op.output).channels;
    const Weights here(graph, {operations[i]}, ConvolutionForm::direct, source);
    const OpWeights& own = here.of(operations[i]);
    const auto put = [&](const float* values, int64_t count, Dtype as) {
      std::byte* place = next;
      sending.send(values, count, as, place);
      next += gpu::on_boundary(count * bytes_per_element(as));
      return place;
    };
    if (op.kind == OpKind::conv) {
      const std::vector<float> kernel = gpu_kernel(own.kernel);
      weights.kernel = put(kernel.data(), static_cast<int64_t>(kernel.size()), dtype);
      weights.bias = put(own.bias, channels, dtype);
    } else if (own.scale != nullptr) {
      weights.scale = reinterpret_cast<const float*>(put(own.scale, channels, Dtype::fp32));
      weights.norm_bias = reinterpret_cast<const float*>(put(own.bias, channels, Dtype::fp32));
    }
    if (progress) progress(double(i + 1) / double(operations.size()));
  }
}

}  // namespace headroom
