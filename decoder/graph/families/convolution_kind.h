#pragma once

#include "decoder/graph/graph.h"

namespace headroom {

/// A family's convolutions. Those over frames are as long over the time as along rows and columns.
struct ConvolutionKind {
  const char* module = "";  ///< of a convolution's own module, the one that has its parameters
  ConvolutionTraits traits{};

  int32_t kernel_frames(int32_t side) const { return traits.over_frames ? side : 1; }
};

}  // namespace headroom
