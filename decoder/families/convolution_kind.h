#pragma once

#include "decoder/graph/graph.h"

namespace headroom {

/// Properties that all convolutions of a family share. Kernels with a time axis are as long along the time as
/// along rows and columns.
struct ConvolutionKind {
  const char* module = "";  ///< name of the submodule that has a convolution's parameters, if any
  ConvolutionTraits traits{};

  int32_t kernel_frames(int32_t side) const { return traits.over_frames ? side : 1; }
};

}  // namespace headroom
