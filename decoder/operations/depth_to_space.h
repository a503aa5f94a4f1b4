#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// Source of one frame of depth_to_space's result: frame `source` of the input. Each position of that frame
/// becomes several pixels, numbered row by row. Channel c of pixel p comes from input channel
/// (begin + p * pixel_step + c * channel_step) / repeats.
struct DepthFrame {
  int64_t source = 0;
  int64_t begin = 0, pixel_step = 1, channel_step = 1, repeats = 1;
};
/// `inputs` and `outputs` are the channels of the input and of the result.
DepthFrame depth_frame(const Op& op, int64_t inputs, int64_t outputs, int64_t frame);

/// Layout of the channels that space_to_depth makes of a square of pixels, before their mean. Channel c of
/// the pixel (frame, row, column) of the square adds to output channel (c * channel_step + frame *
/// frame_step + row * row_step + column * column_step) / group.
struct FoldLayout {
  int64_t frames = 1;  ///< of the square
  int64_t zeros = 0;   ///< the first of these frames, which have only zeros
  int64_t channel_step = 1, frame_step = 1, row_step = 1, column_step = 1;
  int64_t group = 1;
};
/// `inputs` and `outputs` are numbers of channels. `first`: of frame 0, or of every frame if the operation
/// has no stride over the time.
FoldLayout fold_layout(const Op& op, int64_t inputs, int64_t outputs, bool first);

/// A pixel whose channels become channels of an output position of space_to_depth.
struct FoldedPixel {
  int64_t frame = 0;  ///< of the input
  int64_t row = 0, column = 0;
  /// The output channel to which channel c of the pixel adds: (c * channel_step + begin) / group.
  int64_t channel_step = 1, begin = 0;
};

/// The pixels of one output frame. Each output channel is their sum / `group`.
struct FoldedFrame {
  std::vector<FoldedPixel> pixels;
  int64_t group = 1;
};

/// `inputs` and `outputs` are numbers of channels, `frame` is an output frame. Pixels that are zero are left
/// out.
FoldedFrame folded_frame(const Op& op, int64_t inputs, int64_t outputs, int64_t frame);

}  // namespace headroom
