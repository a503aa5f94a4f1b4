#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"

namespace headroom {

/// Pipelines of transformers hand latents on packed: N×(positions)×(channels of a patch). For a shape that is
/// one for this model: "shape (1, 4096, 64) is a packed FLUX latent. Unpack it first: …"; otherwise empty.
std::string packed_latent(const Model& model, const std::vector<int64_t>& shape);

/// Throws InputError for a shape that is no latent of this model, whatever its size: a packed latent, or one
/// of other channels; it names the built-in models that decode so many. `shape` has a batch axis, where
/// with_batch_axis() adds one.
void require_latent_of(const Model& model, const std::vector<int64_t>& shape);

}  // namespace headroom
