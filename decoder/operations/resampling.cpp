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

const Operation interpolate{
    .cheap = true,
    .rounds = true,
    .reach = [](const Op& op) -> Halo {
      // An output interpolates between the input position that it comes from and a neighbour.
      const Axes<int32_t> beside{0, op.factor.y > 1 ? 1 : 0, op.factor.x > 1 ? 1 : 0};
      return {beside, beside};
    },
    .needs_all_frames = [](const Op& op) { return op.factor.t > 1; },
    .flops_per_position = [](const Graph& graph, const Op& op,
                             const Extent&) { return 3 * double(output_channels(graph, op)); },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "interpolate " + std::string(op.factor.t > 1 ? "2x" : "") +
                 axes_text({1, op.factor.y, op.factor.x}) + " " + std::to_string(output_channels(graph, op));
        },
};

const Operation unfold_frames{
    .rounds = true,
    .table_name = [](const Graph& graph,
                     const Op& op) { return "unfold frames " + std::to_string(output_channels(graph, op)); },
};

}  // namespace headroom::operations
