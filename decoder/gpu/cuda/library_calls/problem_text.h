#pragma once

#include <string>

#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"

namespace headroom::gpu {

/// The problem as EngineChoice names it: dtype, channels, taps, extents of the outputs, and strides.
/// Different problems have different texts.
std::string text_of(const ConvolutionProblem& problem);

}  // namespace headroom::gpu
