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

}  // namespace headroom::operations
