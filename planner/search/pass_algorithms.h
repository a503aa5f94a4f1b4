#pragma once

#include <vector>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// Algorithms that the search tries for a pass's convolutions: all direct, then all Winograd, then Winograd
/// for all but one, all but two, and so on. From the third entry on, each has smaller kernels and is slower
/// than the entry before it.
///
/// Winograd kernels take extra bytes for each pair of channels, and save time for each pair and position. So
/// convolutions on coarse tensors save least for their bytes and become direct first. Among equally coarse
/// ones, a convolution over upsampling goes first: its kernels grow most, and its direct algorithm saves time
/// itself. Then the earlier one goes first.
std::vector<ConvolutionAlgorithms> pass_algorithms(const Graph& graph, const Pass& pass,
                                                   const std::vector<ConvolutionAlgorithm>& of_device);

}  // namespace headroom::planner
