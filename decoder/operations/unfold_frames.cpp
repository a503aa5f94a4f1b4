#include "decoder/operations/operation.h"

namespace headroom::operations {

const Operation unfold_frames{
    .rounds = true,
    .table_name = [](const Graph& graph,
                     const Op& op) { return "unfold frames " + std::to_string(output_channels(graph, op)); },
};

}  // namespace headroom::operations
