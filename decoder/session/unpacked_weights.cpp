#include "decoder/session/unpacked_weights.h"

#include <cstdint>
#include <vector>

#include "decoder/cpu/loops/packing.h"
#include "decoder/lowering/convolution.h"

namespace headroom {
namespace {

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
  const int64_t matrices = group.frame_matrices(ConvolutionAlgorithm::direct);
  // Over upsampling the matrices are those of rows and columns of taps, two of each of two phases.
  const int64_t phases = shape.upsamples ? 2 : 1, columns = group.direct_columns();
  const int64_t own_rows = group.direct_rows() / phases, own_columns = columns / phases;
  kernel.reserve(static_cast<size_t>(shape.outputs * shape.frames * matrices * group.inputs));
  for (int64_t phase = 0; phase < phases * phases; ++phase) {
    for (int64_t output = 0; output < shape.outputs; ++output) {
      const float* of_group =
          packed.values + output / group.outputs * group.floats(ConvolutionAlgorithm::direct);
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

HostWeights unpacked_weights(const Graph& graph, const ParameterSource& source) {
  return [&graph, &source](const Op& op) {
    const OpId id = graph.tensor(op.output).producer;
    Pool pool(int64_t{1} << 40);
    const Weights packed(pool, graph, {id}, ConvolutionAlgorithm::direct, source);
    const OpWeights& own = packed.of(id);
    const int64_t channels = graph.tensor(op.output).channels;
    const auto weights = std::make_shared<HostOpWeights>();
    if (op.kind == OpKind::conv) weights->kernel = gpu_kernel(own.kernel);
    if (own.scale != nullptr) weights->scale.assign(own.scale, own.scale + channels);
    const float* bias = op.kind == OpKind::conv ? own.kernel.bias : own.bias;
    if (bias != nullptr) weights->bias.assign(bias, bias + channels);
    return weights;
  };
}

HostWeights held(const Graph& graph, const HostWeights& source, const std::function<void(double)>& progress) {
  const auto weights = std::make_shared<std::vector<std::shared_ptr<const HostOpWeights>>>();
  for (const Op& op : graph.ops()) {
    weights->push_back(source(op));
    if (progress) progress(double(weights->size()) / double(graph.ops().size()));
  }
  return [&graph, weights](const Op& op) { return (*weights)[index(graph.tensor(op.output).producer)]; };
}

}  // namespace headroom
