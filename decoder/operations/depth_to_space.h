#pragma once

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

}  // namespace headroom
