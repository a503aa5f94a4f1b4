#pragma once

#include <vector>

#include "decoder/graph/json_fields.h"

namespace headroom {

/// One number for each latent channel, such as `latents_mean`; none where the key is missing or null. Throws
/// InputError naming the key where there are more or fewer.
std::vector<double> channel_values(const JsonFields& config, const char* key, int64_t channels);

}  // namespace headroom
