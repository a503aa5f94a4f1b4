#pragma once

#include <optional>
#include <vector>

#include "decoder/base/json_fields.h"

namespace headroom {

/// Reads a list of numbers such as `latents_mean`. Returns `otherwise` if the key is missing and an empty
/// list if it is null. Does not check the length: diffusers saves its 16 defaults whatever the number of
/// latent channels is. Throws InputError naming the key if an element is not a number.
std::vector<double> channel_values(const JsonFields& config, const char* key,
                                   const std::vector<double>& otherwise = {});

/// Reads `scaling_factor`. Returns `otherwise` if the key is missing and nothing if it is null. Only code
/// that undoes the scaling needs a value. Throws InputError if it is 0 or not a number.
std::optional<double> scaling_factor(const JsonFields& config, std::optional<double> otherwise);

/// Reads `shift_factor`. Returns `otherwise` if the key is missing and nothing if it is null. It may be 0.
/// Throws InputError if it is not a number.
std::optional<double> shift_factor(const JsonFields& config, double otherwise);

}  // namespace headroom
