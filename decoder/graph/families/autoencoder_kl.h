#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKL (diffusers 0.38.0: models/autoencoders/autoencoder_kl.py, vae.py
/// and models/unets/unet_2d_blocks.py) from its config. Throws InputError naming a key whose value is not
/// supported.
Model autoencoder_kl(const JsonFields& config);

}  // namespace headroom
