#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of Open-Sora-Plan's CausalVAEModel, v1.0 to v1.2 (PKU-YuanGroup/Open-Sora-Plan at v1.2.0:
/// opensora/models/causalvideovae/model/causal_vae/modeling_causalvae.py), from its config. Throws InputError
/// naming a key whose value is not supported.
Model causal_vae_model(const JsonFields& config);

}  // namespace headroom
