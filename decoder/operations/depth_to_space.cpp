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

FoldLayout fold_layout(const Op& op, int64_t inputs, int64_t outputs, bool first) {
  const int64_t rows = op.stride.y, columns = op.stride.x;
  FoldLayout layout;
  layout.frames = first && op.fold.first == FoldFirst::alone ? 1 : op.fold.frames;
  if (first && op.fold.first == FoldFirst::zeros) layout.zeros = layout.frames - 1;
  const int64_t pixels = layout.frames * rows * columns;
  layout.group = inputs * pixels / outputs;
  // Steps between pixels in units of channels of one pixel.
  const bool by_pixel = op.fold.order == FoldOrder::frame_row_column_channel;
  const int64_t unit = by_pixel ? inputs : 1;
  const bool column_first = op.fold.order == FoldOrder::channel_column_row;
  layout.channel_step = by_pixel ? 1 : pixels;
  layout.frame_step = rows * columns * unit;
  layout.row_step = (column_first ? 1 : columns) * unit;
  layout.column_step = (column_first ? rows : 1) * unit;
  return layout;
}

FoldedFrame folded_frame(const Op& op, int64_t inputs, int64_t outputs, int64_t frame) {
  const bool first = frame == 0 || op.stride.t == 1;
  const FoldLayout layout = fold_layout(op, inputs, outputs, first);
  FoldedFrame folded;
  folded.group = layout.group;
  for (int64_t t = layout.zeros; t < layout.frames; ++t) {
    for (int64_t y = 0; y < op.stride.y; ++y) {
      for (int64_t x = 0; x < op.stride.x; ++x) {
        folded.pixels.push_back(
            {.frame = first ? frame : (frame - 1) * op.stride.t + 1 + t,
             .row = y,
             .column = x,
             .channel_step = layout.channel_step,
             .begin = t * layout.frame_step + y * layout.row_step + x * layout.column_step});
      }
    }
  }
  return folded;
}

namespace operations {

const Operation space_to_depth{
    .rounds = true,
    .can_carry_rows = true,
    .eager_copies = 1,
    .flops_per_position =
        [](const Graph& graph, const Op& op, const Extent&) {
          return double(input_channels(graph, op)) * op.fold.frames * op.stride.y * op.stride.x;
        },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return "space to depth " + axes_text({op.fold.frames, op.stride.y, op.stride.x}) + " " +
                 std::to_string(input_channels(graph, op)) + "->" +
                 std::to_string(output_channels(graph, op));
        },
};

}  // namespace operations
}  // namespace headroom
