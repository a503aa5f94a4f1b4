#pragma once

#include <functional>

#include "decoder/cpu/packed_weights.h"
#include "decoder/gpu/gpu_weights.h"

namespace headroom {

/// Parameters for a GPU, from kernels that were packed for this machine's processor: what is folded into a
/// kernel when it is packed is written once. Both must outlive what is returned.
HostWeights unpacked_weights(const Graph& graph, const ParameterSource& source);

/// All of them, read once and held in memory. `progress` is told the share that is there.
HostWeights held(const Graph& graph, const HostWeights& source, const std::function<void(double)>& progress);

}  // namespace headroom
