#include "decoder/operations/operation.h"

namespace headroom::operations {

const Operation upsample{
    .cheap = true,
    .pads = true,
    .can_carry_rows = true,
    .reads_kept = true,
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "upsample " + axes_text(op.factor) + " " + std::to_string(output_channels(graph, op));
        },
};

}  // namespace headroom::operations
