#pragma once

#include <vector>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// What the search tries for a pass's convolutions, each with smaller kernels and longer than the one behind
/// it but the first: all direct, all by Winograd's algorithm, then all but one, but two, and so on.
///
/// A convolution's Winograd kernel is so many bytes larger for each pair of channels, and saves so much time
/// for each pair and each position: coarse tensors save least for their bytes. So what becomes direct first
/// reads the coarsest tensor; of two that read as coarse ones it is the one over upsampling, whose kernels
/// grow most and whose direct algorithm saves something itself; then the one that runs earlier.
std::vector<ConvolutionAlgorithms> pass_algorithms(const Graph& graph, const Pass& pass, DeviceKind device);

}  // namespace headroom::planner
