#include "decoder/operations/space_to_depth.h"

#include "decoder/operations/operation.h"

namespace headroom {
namespace {

/// Number of a pixel in the order of channels, and the distance of its neighbouring channels.
FoldedPixel pixel_of(const Op& op, int64_t inputs, int64_t frames, int64_t frame, int64_t row,
                     int64_t column) {
  const int64_t rows = op.stride.y, columns = op.stride.x, pixels = frames * rows * columns;
  switch (op.fold.order) {
    case FoldOrder::channel_frame_row_column:
      return {0, row, column, pixels, (frame * rows + row) * columns + column};
    case FoldOrder::channel_column_row:
      return {0, row, column, pixels, (frame * columns + column) * rows + row};
    case FoldOrder::frame_row_column_channel:
      break;
  }
  return {0, row, column, 1, ((frame * rows + row) * columns + column) * inputs};
}

}  // namespace

FoldedFrame folded_frame(const Op& op, int64_t inputs, int64_t outputs, int64_t frame) {
  const bool first = frame == 0 || op.stride.t == 1;
  const bool alone = first && op.fold.first == FoldFirst::alone;
  const int64_t frames = alone ? 1 : op.fold.frames;
  FoldedFrame folded;
  folded.group = inputs * frames * op.stride.y * op.stride.x / outputs;
  for (int64_t t = 0; t < frames; ++t) {
    if (first && op.fold.first == FoldFirst::zeros && t + 1 < frames) continue;
    for (int64_t y = 0; y < op.stride.y; ++y) {
      for (int64_t x = 0; x < op.stride.x; ++x) {
        FoldedPixel pixel = pixel_of(op, inputs, frames, t, y, x);
        pixel.frame = first ? frame : (frame - 1) * op.stride.t + 1 + t;
        folded.pixels.push_back(pixel);
      }
    }
  }
  return folded;
}

namespace operations {

const Operation space_to_depth{
    .rounds = true,
    .carries_rows = true,
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
