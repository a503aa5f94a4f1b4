#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Where a program's weights come from: a seed if given, else the folder `weights`, else the model's own
/// folder. Throws InputError where there is none of these, and what WeightFiles throws.
ParameterSource open_weights(const std::string& model, const std::string& weights,
                             std::optional<uint64_t> random_seed);

}  // namespace headroom
