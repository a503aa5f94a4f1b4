#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/runtime/weights.h"
#include "profiler/profile/profile.h"

namespace headroom {

/// Decodes a seeded latent layer by layer, untiled, at each size (width, height) and records per layer its output
/// bytes, the bytes live, the workspace and the time; for each size the live set at the peak. Of `repeats` runs
/// the shortest time of each layer counts. start_libraries() first. `progress` is told the share done.
Profile collect_profile(const Model& model, const std::string& model_argument, const ParameterSource& weights,
                        const std::vector<std::pair<int64_t, int64_t>>& sizes, int64_t batch, int repeats,
                        const std::function<void(double, const std::string&)>& progress);

}  // namespace headroom
