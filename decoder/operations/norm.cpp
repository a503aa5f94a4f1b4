#include "decoder/operations/operation.h"

namespace headroom::operations {

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

}  // namespace headroom::operations
