#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"

namespace headroom {

/// Returns a message if `shape` is a packed latent of this model, otherwise an empty text. Pipelines of
/// transformers pack latents as N×(positions)×(channels of a patch). Example: "shape (1, 4096, 64) is a
/// packed FLUX latent. Unpack it first: …".
std::string packed_latent(const Model& model, const std::vector<int64_t>& shape);

/// Throws InputError if `shape` is a packed latent, or if its channels do not fit this model. The message
/// names the built-in models with that channel count. Height and width are not checked. `shape` includes the
/// batch axis of with_batch_axis().
void require_latent_of(const Model& model, const std::vector<int64_t>& shape);

}  // namespace headroom
