#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

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
