#include "decoder/operations/operation.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace headroom {

namespace {

constexpr Operation kMove{.can_carry_rows = true};

/// In the order of OpKind.
constexpr std::array kOperations{
#define X(kind) &operations::kind,
    HEADROOM_OPERATIONS(X)
#undef X
};

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

}  // namespace

const Operation& operation(OpKind kind) {
  return index(kind) < kOperations.size() ? *kOperations[index(kind)] : kMove;
}

Halo reach(const Op& op) {
  const auto own = operation(op.kind).reach;
  return own == nullptr ? Halo{} : own(op);
}

Edges edges_read(const Op& op) {
  const auto own = operation(op.kind).edges_read;
  return own == nullptr ? Edges::zeros : own(op);
}

bool needs_all_frames(const Op& op) {
  const auto own = operation(op.kind).needs_all_frames;
  return own != nullptr && own(op);
}

bool is_barrier(const Op& op, size_t input) {
  switch (operation(op.kind).barrier) {
    case BarrierInputs::none:
      return false;
    case BarrierInputs::all:
      return true;
    case BarrierInputs::all_but_first:
      return input > 0;
    case BarrierInputs::last:
      return input + 1 == op.inputs.size();
  }
  return false;
}

Region needed_region(const Op& op, const Region& output) {
  const Halo halo = reach(op);
  Region needed = per_axis(
      [](const Interval& out, int32_t factor, int32_t stride, const Interval& around) {
        return Interval{floor_divide(out.begin, factor) * stride - around.begin,
                        -floor_divide(-out.end, factor) * stride + around.end};
      },
      output, op.factor, op.stride,
      Axes<Interval>{{}, {halo.before.y, halo.after.y}, {halo.before.x, halo.after.x}});
  needed.t = frames_at_scale(output.t, op.factor.t, op.stride.t);
  needed.t.begin -= halo.before.t;
  needed.t.end += halo.after.t;
  return needed;
}

bool is_kept_for_barriers_only(const Graph& graph, TensorId id) {
  const Op* producer = graph.producer(id);
  return producer != nullptr && operation(producer->kind).cheap && !graph.tensor(id).cut_point;
}

bool rounds_result(const Graph& graph, const Op& op) {
  const auto attends = [&](OpId id) {
    const Op& reader = graph.op(id);
    return reader.kind == OpKind::attention &&
           (reader.inputs[1] == op.output || reader.inputs[2] == op.output);
  };
  const std::vector<OpId>& readers = graph.readers(op.output);
  return operation(op.kind).rounds || std::any_of(readers.begin(), readers.end(), attends);
}

TensorId measured_tensor(const Op& op) {
  return takes_statistics(op.kind) ? op.inputs[0] : op.output;
}

std::vector<int32_t> barrier_depths(const Graph& graph) {
  std::vector<int32_t> depths(graph.tensors().size(), 0);
  for (const Op& op : graph.ops()) {
    int32_t depth = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& input = graph.tensor(op.inputs[i]);
      // Statistics count their barrier when they are measured, not when they are read.
      const bool crossed = (is_barrier(op, i) && !input.statistics) || input.cut_point;
      depth = std::max(depth, depths[index(op.inputs[i])] + (crossed ? 1 : 0));
    }
    depths[index(op.output)] = depth;
  }
  return depths;
}

std::vector<Parameter> parameters_of(const Graph& graph, const Op& op) {
  const Operation& own = operation(op.kind);
  if (own.parameters != nullptr) return own.parameters(graph, op);
  return own.has_scale_and_bias ? scale_and_bias(graph, op) : std::vector<Parameter>{};
}

std::vector<Parameter> scale_and_bias(const Graph& graph, const Op& op) {
  const int64_t channels = output_channels(graph, op) / op.frames_in_channels;
  return {{op.name + ".weight", {channels}}, {op.name + ".bias", {channels}}};
}

int64_t elements_of(const Parameter& parameter) {
  int64_t product = 1;
  for (int64_t length : parameter.shape) product *= length;
  return product;
}

int64_t parameter_elements(const Graph& graph) {
  std::unordered_set<std::string> counted;  // several operations may read a parameter
  int64_t sum = 0;
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) {
      if (counted.insert(parameter.name).second) sum += elements_of(parameter);
    }
  }
  return sum;
}

double flops_per_position(const Graph& graph, const Op& op, const Extent& latent) {
  const auto own = operation(op.kind).flops_per_position;
  return own == nullptr ? 0 : own(graph, op, latent);
}

int64_t output_channels(const Graph& graph, const Op& op) {
  return graph.tensor(op.output).channels;
}

int64_t input_channels(const Graph& graph, const Op& op) {
  return graph.tensor(op.inputs[0]).channels;
}

std::string axes_text(const Axes<int32_t>& axes) {
  return (axes.t > 1 ? std::to_string(axes.t) + "x" : "") + std::to_string(axes.y) + "x" +
         std::to_string(axes.x);
}

std::string activation_text(const Op& op) {
  return op.activation != Activation::none ? std::string(" ") + name_of(op.activation) : "";
}

}  // namespace headroom
