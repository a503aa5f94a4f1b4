#include "decoder/operations/linear_attention.h"

#include "decoder/operations/operation.h"

namespace headroom {

int64_t head_channels(const Graph& graph, const Op& op) {
  int64_t channels = 0;
  for (TensorId input : op.inputs)
    channels += graph.tensor(input).statistics ? 0 : graph.tensor(input).channels;
  return channels / (3 * op.groups);
}

namespace operations {
namespace {

std::string heads(const Graph& graph, const Op& op) {
  return std::to_string(op.groups) + " heads of " + std::to_string(head_channels(graph, op));
}

double flops(const Graph& graph, const Op& op, const Extent&) {
  const auto width = double(head_channels(graph, op));
  return 2 * double(op.groups) * width * (width + 1);
}

}  // namespace

const Operation key_value_sums{
    .barrier = BarrierInputs::all,
    .flops_per_position = flops,
    .table_name = [](const Graph& graph, const Op& op) { return "key-value sums of " + heads(graph, op); },
};

const Operation linear_attention{
    .barrier = BarrierInputs::last,
    .pointwise = true,
    .rounds = true,
    .flops_per_position = flops,
    .table_name = [](const Graph& graph, const Op& op) { return "linear attention of " + heads(graph, op); },
};

}  // namespace operations
}  // namespace headroom
