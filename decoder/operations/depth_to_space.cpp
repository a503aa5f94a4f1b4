#include "decoder/operations/depth_to_space.h"

#include <algorithm>

#include "decoder/operations/operation.h"

namespace headroom {

DepthFrame depth_frame(const Op& op, int64_t inputs, int64_t outputs, int64_t frame) {
  const bool first = frame == 0 || op.factor.t == 1;
  const int64_t of_frame = int64_t{op.factor.y} * op.factor.x, all = op.frames_in_depth * of_frame;
  const int64_t source = first ? frame : (frame - 1) / op.factor.t + 1;
  const int64_t later = first ? 0 : (frame - 1) % op.factor.t;
  if (op.depth_order == DepthOrder::channel_first)
    return {source, first ? all - of_frame : later * of_frame, 1, all, outputs * all / inputs};
  if (op.depth_order == DepthOrder::frame_within_pixel)
    return {source, later * outputs, op.frames_in_depth * outputs, 1, outputs * all / inputs};
  const int64_t of_pixel = inputs / (first ? of_frame : all);
  const int64_t repeats = std::max<int64_t>(1, outputs / of_pixel), pixel_step = of_pixel * repeats;
  return {source, later * of_frame * pixel_step, pixel_step, 1, repeats};
}

namespace operations {
namespace {

/// True if an input channel is repeated for several output pixels, or for frames that are dropped.
bool repeats_channels(const Graph& graph, const Op& op) {
  const int64_t pixels = int64_t{op.factor.t} * op.factor.y * op.factor.x;
  return input_channels(graph, op) != output_channels(graph, op) * pixels;
}

}  // namespace

const Operation depth_to_space{
    .cheap = true,
    .can_carry_rows = true,
    .eager_copies = 2,
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "depth to space " + axes_text(op.factor) + " " +
                 (op.depth_order == DepthOrder::channel_first ? "" : "by pixel ") +
                 (repeats_channels(graph, op) ? std::to_string(input_channels(graph, op)) + "->" : "") +
                 std::to_string(output_channels(graph, op));
        },
};

}  // namespace operations
}  // namespace headroom
