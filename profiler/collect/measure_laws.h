#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/profile/law.h"

namespace headroom {

/// Measures what each kind of call of a decoder costs over the extents of its tile: every step that the
/// interpreter runs, through the same code, one call after the other on memory of a pool whose pages are
/// there already. Extents go up to those of the whole tensors of the largest latent. Each point is measured
/// in `sweeps` sweeps; the median of their medians counts, set right for what a reference call took beside
/// each. start_libraries() first. `progress` is told the share done and what is measured.
std::vector<Law> measure_laws(const Graph& graph, const std::vector<Extent>& latents, Dtype dtype, int sweeps,
                              const std::function<void(double, const std::string&)>& progress);

}  // namespace headroom
