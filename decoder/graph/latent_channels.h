#pragma once

#include <vector>

#include "decoder/graph/json_fields.h"

namespace headroom {

/// The numbers of a list such as `latents_mean`; none where the key is missing or null. How many there are is
/// checked where they are used: diffusers saves its 16 defaults whatever the number of latent channels is.
/// Throws InputError naming the key where they are not numbers.
std::vector<double> channel_values(const JsonFields& config, const char* key);

}  // namespace headroom
