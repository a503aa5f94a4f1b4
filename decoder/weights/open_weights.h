#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Opens a program's weights: from a seed if given, else from the folder `weights`, else from the model's own
/// folder. Throws InputError if there is none of these, and what WeightFiles throws.
ParameterSource open_weights(const std::string& model, const std::string& weights,
                             std::optional<uint64_t> random_seed);

}  // namespace headroom
