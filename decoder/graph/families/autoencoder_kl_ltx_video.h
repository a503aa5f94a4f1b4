#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKLLTX2Video, of LTX-2 (diffusers 0.42.1:
/// models/autoencoders/autoencoder_kl_ltx2.py), from its config. Throws InputError naming a key whose value
/// is not supported.
Model autoencoder_kl_ltx2_video(const JsonFields& config);

/// The same of AutoencoderKLLTXVideo, of LTX-Video (autoencoder_kl_ltx.py there).
Model autoencoder_kl_ltx_video(const JsonFields& config);

}  // namespace headroom
