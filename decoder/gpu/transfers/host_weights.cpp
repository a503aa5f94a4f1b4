#include "decoder/gpu/transfers/host_weights.h"

#include <cstring>

#include "decoder/cpu/loops/storage.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"
#include "decoder/weights/folded_convolution.h"

namespace headroom {
namespace {

/// [phase][outputs][frames][rows][columns][inputs / groups]; without upsampling there is one phase.
std::vector<float> gpu_kernel(const FoldedConvolution& convolution) {
  const KernelShape& shape = convolution.shape();
  const int64_t inputs = convolution.group_inputs(), taps = convolution.frame_taps();
  const int64_t phases = shape.upsamples ? 2 : 1;  // along an axis
  const int64_t columns = shape.direct_columns(), phase_columns = columns / phases,
                phase_rows = shape.direct_rows() / phases;
  std::vector<float> of_output(static_cast<size_t>(shape.frames * inputs * taps));
  std::vector<float> kernel(static_cast<size_t>(shape.outputs) * of_output.size());
  for (int64_t output = 0; output < shape.outputs; ++output) {
    convolution.read_taps(output, {0, inputs}, of_output.data());
    for (int64_t frame = 0; frame < shape.frames; ++frame) {
      const float* from = of_output.data() + frame * inputs * taps;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t row = tap / columns, column = tap % columns;
        const int64_t phase = row / phase_rows * phases + column / phase_columns;
        const int64_t tap_of_phase = row % phase_rows * phase_columns + column % phase_columns;
        float* to = kernel.data() +
                    (((phase * shape.outputs + output) * shape.frames + frame) * phase_rows * phase_columns +
                     tap_of_phase) *
                        inputs;
        for (int64_t input = 0; input < inputs; ++input) to[input] = from[input * taps + tap];
      }
    }
  }
  return kernel;
}

std::vector<float> values_of(const ParameterSource& source, const Parameter& parameter, int64_t channels) {
  std::vector<float> values(static_cast<size_t>(channels));
  read_channels(source, parameter, channels, values.data());
  return values;
}

}  // namespace

int64_t WeightList::bytes() const {
  return gpu::on_boundary(std::ssize(*values) * bytes_per_element(dtype));
}

std::vector<WeightList> weight_lists(const Op& op, const HostOpWeights& weights, Dtype dtype) {
  if (op.kind == OpKind::conv) return {{&weights.kernel, dtype}, {&weights.bias, dtype}};
  if (weights.scale.empty()) return {};
  return {{&weights.scale, Dtype::fp32}, {&weights.bias, Dtype::fp32}};
}

HostWeights host_weights(const Graph& graph, const ParameterSource& source) {
  return [&graph, &source](const Op& op) {
    auto weights = std::make_shared<HostOpWeights>();
    const int64_t channels = graph.tensor(op.output).channels;
    if (op.kind == OpKind::conv) {
      const FoldedConvolution convolution(graph, op, source);
      weights->kernel = gpu_kernel(convolution);
      weights->bias.resize(static_cast<size_t>(channels));
      // Emit adds the picture's shift in fp32. A 16-bit bias would round it.
      convolution.read_bias(weights->bias.data(), op.output != graph.output());
    } else if (operation(op.kind).has_scale_and_bias) {
      const std::vector<Parameter> parameters = parameters_of(graph, op);
      weights->scale.assign(static_cast<size_t>(channels), 1.0f);
      if (!parameters.empty()) weights->scale = values_of(source, parameters[0], channels);
      weights->bias.assign(static_cast<size_t>(channels), 0.0f);
      if (parameters.size() > 1) weights->bias = values_of(source, parameters[1], channels);
    }
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

HostWeights no_host_weights() {
  return [none = std::make_shared<const HostOpWeights>()](const Op&) { return none; };
}

namespace {

void pack(const WeightList& list, std::byte* to) {
  const std::vector<float>& values = *list.values;
  if (list.dtype == Dtype::fp32) {
    std::memcpy(to, values.data(), values.size() * sizeof(float));
  } else {
    kernels::narrow(list.dtype, values.data(), to, std::ssize(values));
  }
}

int64_t bytes_of(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype) {
  int64_t bytes = 0;
  for (const OpId id : operations) bytes += gpu::parameter_bytes(graph, graph.op(id), dtype);
  return bytes;
}

}  // namespace

PinnedWeights::PinnedWeights(gpu::Gpu& gpu, const Graph& graph, const std::vector<OpId>& operations,
                             Dtype dtype, const HostWeights& source,
                             const std::function<void(double)>& progress)
    : bytes_(bytes_of(graph, operations, dtype)), memory_(gpu.pin(bytes_)), ops_(graph.ops().size()) {
  std::byte* next = memory_.get();
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    const std::shared_ptr<const HostOpWeights> own = source(op);
    Packed& packed = ops_[index(operations[i])];
    packed.values = next;
    for (const WeightList& list : weight_lists(op, *own, dtype)) {
      packed.second = packed.bytes == 0 ? list.bytes() : packed.second;
      pack(list, next);
      next += list.bytes();
      packed.bytes += list.bytes();
    }
    if (progress) progress(double(i + 1) / double(operations.size()));
  }
}

std::vector<PinnedWeights::Copy> PinnedWeights::copies(const std::vector<OpId>& operations,
                                                       std::byte* to) const {
  std::vector<Copy> copies;
  for (const OpId op : operations) {
    const Packed& packed = of(op);
    if (packed.bytes == 0) continue;
    if (!copies.empty() && copies.back().from + copies.back().bytes == packed.values) {
      copies.back().bytes += packed.bytes;
    } else {
      copies.push_back({packed.values, to, packed.bytes});
    }
    to += packed.bytes;
  }
  return copies;
}

}  // namespace headroom
