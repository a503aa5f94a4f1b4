#include "decoder/cpu/packed_weights.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/cpu/loops/packing.h"
#include "decoder/cpu/threads.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/storage.h"
#include "decoder/weights/folded_convolution.h"

namespace headroom {
namespace {

using kernels::PackedPart;

constexpr int64_t kAlignedFloats = 16;
// Outputs and inputs of a kernel that a thread packs at a time.
constexpr int64_t kPartOutputs = 16;
constexpr int64_t kPartInputs = 64;

int64_t aligned(int64_t floats) {
  return (floats + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
}

/// Runs f(first output, inputs, buffers) for every kPartOutputs outputs and kPartInputs inputs of a kernel.
/// No two threads share a `Buffers`.
template <typename Buffers, typename F>
void for_parts(const KernelShape& shape, const F& f) {
  const int64_t across = (shape.inputs + kPartInputs - 1) / kPartInputs;
  const int64_t parts = (shape.outputs + kPartOutputs - 1) / kPartOutputs * across;
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    Buffers buffers;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % across * kPartInputs;
      f(i / across * kPartOutputs, Interval{first, std::min(shape.inputs, first + kPartInputs)}, buffers);
    }
  });
}

/// Location of one frame's matrices in a packed kernel, from this output and input on.
PackedPart part_of(const KernelShape& shape, ConvolutionAlgorithm algorithm, float* packed, int64_t frame,
                   int64_t output, int64_t input) {
  const int64_t width = kernels::panel_width(shape, output);
  float* of_frame = packed + frame * shape.frame_matrices(algorithm) * shape.matrix_floats();
  return {of_frame + kernels::panel_offset(shape, output) + input * width, shape.matrix_floats(), width};
}

/// Packs the kernel of one group, whose shape is `group`.
void pack_group(const FoldedConvolution& convolution, const KernelShape& group, int64_t number,
                ConvolutionAlgorithm algorithm, float* packed) {
  struct Buffers {
    std::vector<float> taps, direct;
  };
  for_parts<Buffers>(group, [&](int64_t output, const Interval& inputs, Buffers& buffers) {
    const int64_t outputs = std::min(kPartOutputs, group.outputs - output);
    const int64_t frame_values = inputs.length() * convolution.frame_taps();
    const int64_t distance = group.frames * frame_values;
    buffers.taps.resize(static_cast<size_t>(kPartOutputs * distance));
    for (int64_t o = 0; o < outputs; ++o) {
      convolution.read_taps(number * group.outputs + output + o, inputs, buffers.taps.data() + o * distance);
    }
    for (int64_t frame = 0; frame < group.frames; ++frame) {
      const auto pack = [&](const PackedPart& direct) {
        kernels::pack_direct(group, buffers.taps.data() + frame * frame_values, distance, inputs.length(),
                             outputs, direct);
      };
      const PackedPart target = part_of(group, algorithm, packed, frame, output, inputs.begin);
      if (algorithm == ConvolutionAlgorithm::direct) {
        pack(target);
        continue;
      }
      buffers.direct.resize(static_cast<size_t>(kPartOutputs * frame_values));
      const PackedPart direct{buffers.direct.data(), inputs.length() * kPartOutputs, kPartOutputs};
      pack(direct);
      kernels::pack_winograd(group, direct, inputs.length(), target);
    }
  });
}

/// Packs channels side by side, with zeros beyond them.
void pack_depthwise(const FoldedConvolution& convolution, float* packed) {
  const KernelShape& shape = convolution.shape();
  const int64_t taps = convolution.frame_taps(), across = shape.padded_outputs();
  parallel_for(0, across, kPartInputs, [&](int64_t begin, int64_t end) {
    std::vector<float> values(static_cast<size_t>(taps), 0.0f);
    for (int64_t c = begin; c < end; ++c) {
      if (c < shape.outputs) {
        convolution.read_taps(c, {0, 1}, values.data());
      } else {
        std::fill(values.begin(), values.end(), 0.0f);
      }
      for (int64_t t = 0; t < taps; ++t) packed[t * across + c] = values[static_cast<size_t>(t)];
    }
  });
}

void pack_kernel(const FoldedConvolution& convolution, ConvolutionAlgorithm algorithm, float* packed) {
  const KernelShape& shape = convolution.shape();
  if (shape.depthwise()) return pack_depthwise(convolution, packed);
  if (shape.groups == 1) return pack_group(convolution, shape, 0, algorithm, packed);
  const KernelShape group = shape.of_group();
  for (int64_t g = 0; g < shape.groups; ++g)
    pack_group(convolution, group, g, algorithm, packed + g * group.floats(algorithm));
}

void transform_kernel(const PackedKernel& from, float* packed) {
  struct Nothing {};
  // PackedPart has no const form. `direct` is only read.
  float* direct = const_cast<float*>(from.values);
  for_parts<Nothing>(from.shape, [&](int64_t output, const Interval& inputs, Nothing&) {
    for (int64_t frame = 0; frame < from.shape.frames; ++frame) {
      kernels::pack_winograd(
          from.shape, part_of(from.shape, ConvolutionAlgorithm::direct, direct, frame, output, inputs.begin),
          inputs.length(),
          part_of(from.shape, ConvolutionAlgorithm::winograd, packed, frame, output, inputs.begin));
    }
  });
}

}  // namespace

Weights::Weights(LimitedPool& pool, const Graph& graph, const std::vector<OpId>& operations,
                 const ConvolutionAlgorithms& algorithms, const ParameterSource& source,
                 const std::function<void(double)>& progress)
    : ops_(graph.ops().size()) {
  int64_t floats = 0;
  for (OpId op : operations)
    floats += weights_bytes(graph, graph.op(op), algorithms.of(op), {}) / int64_t{sizeof(float)};
  slab_ = pool.take_floats(floats);
  float* next = slab_.get();
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    OpWeights& weights = ops_[index(operations[i])];
    const int64_t channels = graph.tensor(op.output).channels;
    if (op.kind == OpKind::conv) {
      pool.make_room(MultipliedKernels::kernel_bytes(graph, op));
      const FoldedConvolution convolution(graph, op, source);
      const KernelShape& shape = convolution.shape();
      const ConvolutionAlgorithm own = algorithm_of(shape, algorithms.of(operations[i]));
      pack_kernel(convolution, own, next);
      weights.kernel = {shape, own, next, nullptr};
      next += aligned(shape.floats(own));
      convolution.read_bias(next);
      weights.kernel.bias = next;
      next += aligned(channels);
    } else if (operation(op.kind).has_scale_and_bias) {
      const std::vector<Parameter> parameters = parameters_of(graph, op);
      if (parameters.empty()) {
        std::fill_n(next, channels, 1.0f);
      } else {
        read_channels(source, parameters[0], channels, next);
      }
      weights.scale = next;
      next += aligned(channels);
      if (parameters.size() > 1) {
        read_channels(source, parameters[1], channels, next);
      } else {
        std::fill_n(next, channels, 0.0f);
      }
      weights.bias = next;
      next += aligned(channels);
    }
    if (progress) progress(double(i + 1) / double(operations.size()));
  }
}

Weights::Weights(LimitedPool& pool, const Graph& graph, const std::vector<OpId>& operations,
                 const ConvolutionAlgorithms& algorithms, const Weights& direct)
    : ops_(direct.ops_) {
  std::vector<OpId> changing;
  int64_t floats = 0;
  for (OpId op : operations) {
    if (!runs_winograd(graph, algorithms, op)) continue;
    changing.push_back(op);
    floats += direct.of(op).kernel.shape.floats(ConvolutionAlgorithm::winograd);
  }
  slab_ = pool.take_floats(floats);
  float* next = slab_.get();
  for (OpId op : changing) {
    PackedKernel& kernel = ops_[index(op)].kernel;
    transform_kernel(direct.of(op).kernel, next);
    kernel.algorithm = ConvolutionAlgorithm::winograd;
    kernel.values = next;
    next += kernel.shape.floats(ConvolutionAlgorithm::winograd);
  }
}

void PlannedWeights::begin_pass(size_t number) {
  const Pass& pass = plan_.passes[number];
  try {
    if (resident_ == nullptr) {
      of_pass_.emplace(pool_, graph_, operations_of(pass), pass.convolutions, source_);
    } else if (pass.convolutions.algorithm == ConvolutionAlgorithm::winograd) {
      of_pass_.emplace(pool_, graph_, operations_of(pass), pass.convolutions, *resident_);
    }
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name +
                        "), loading its weights: " + refused.what());
  }
}

}  // namespace headroom
