#pragma once

#include <optional>
#include <vector>

#include "decoder/graph/json_fields.h"

namespace headroom {

/// The numbers of a list such as `latents_mean`: `otherwise` where the key is missing, none where it is null.
/// How many there are is checked where they are used: diffusers saves its 16 defaults whatever the number of
/// latent channels is. Throws InputError naming the key where they are not numbers.
std::vector<double> channel_values(const JsonFields& config, const char* key,
                                   const std::vector<double>& otherwise = {});

/// `scaling_factor`: the class's default where the key is missing, nothing where it is null. Only whoever
/// undoes the scaling needs it. Throws InputError where it is 0 or no number.
std::optional<double> scaling_factor(const JsonFields& config, std::optional<double> otherwise);

/// `shift_factor`: `otherwise` where the key is missing, nothing where it is null. It may be 0. Throws
/// InputError where it is no number.
std::optional<double> shift_factor(const JsonFields& config, double otherwise);

}  // namespace headroom
