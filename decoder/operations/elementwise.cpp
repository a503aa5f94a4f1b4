#include "decoder/operations/operation.h"

namespace headroom::operations {

const Operation activate{
    .pointwise = true,
    .cheap = true,
    .pads = true,
    .can_carry_rows = true,
    .reads_kept = true,
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return 5 * double(output_channels(graph, op)); },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "activate " + std::to_string(output_channels(graph, op)) + activation_text(op);
        },
};

const Operation add{
    .pointwise = true,
    .rounds = true,
    .can_carry_rows = true,
    .reads_kept = true,
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return double(output_channels(graph, op)); },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "add " + std::to_string(output_channels(graph, op)) + activation_text(op);
        },
};

const Operation gate{
    .pointwise = true,
    .rounds = true,
    .eager_copies = 1,
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return 5 * double(output_channels(graph, op)); },
    .table_name = [](const Graph& graph,
                     const Op& op) { return "gate " + std::to_string(output_channels(graph, op)); },
};

const Operation modulate{
    .pointwise = true,
    .cheap = true,
    .pads = true,
    .can_carry_rows = true,
    .eager_copies = 1,
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return 7 * double(output_channels(graph, op)); },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "modulate " + std::to_string(output_channels(graph, op)) + activation_text(op);
        },
};

}  // namespace headroom::operations
