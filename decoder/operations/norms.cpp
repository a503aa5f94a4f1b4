#include "decoder/operations/operation.h"

namespace headroom::operations {

const Operation statistics{
    .barrier = BarrierInputs::all,
    .can_carry_rows = true,
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return 3 * double(input_channels(graph, op)); },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "statistics " + std::to_string(input_channels(graph, op)) + " in " +
                 std::to_string(op.groups);
        },
};

const Operation norm{
    .barrier = BarrierInputs::all_but_first,
    .pointwise = true,
    .cheap = true,
    .pads = true,
    .has_scale_and_bias = true,
    .can_carry_rows = true,
    .reads_kept = true,
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return 8 * double(output_channels(graph, op)); },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "norm " + std::to_string(output_channels(graph, op)) + " " + name_of(op.activation);
        },
};

const Operation rms_norm{
    .pointwise = true,
    .cheap = true,
    .pads = true,
    .has_scale_and_bias = true,
    .can_carry_rows = true,
    .parameters = [](const Graph& graph, const Op& op) -> std::vector<Parameter> {
      if (op.gamma_axes == kNoParameters) return {};
      if (op.gamma_axes == kWeightAndBias) return scale_and_bias(graph, op);
      std::vector<int64_t> shape(static_cast<size_t>(op.gamma_axes) + 1, 1);
      shape[0] = output_channels(graph, op);
      return {{op.name + ".gamma", std::move(shape)}};
    },
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return 5 * double(output_channels(graph, op)); },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return (op.centred ? "layer norm " : "rms norm ") + std::to_string(output_channels(graph, op)) +
                 " " + name_of(op.activation);
        },
};

}  // namespace headroom::operations
