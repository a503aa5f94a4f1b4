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

}  // namespace headroom::operations
