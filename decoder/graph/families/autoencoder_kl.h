#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKL (diffusers 0.42.1: models/autoencoders/autoencoder_kl.py, vae.py
/// and models/unets/unet_2d_blocks.py) from its config. Throws InputError naming a key whose value is not
/// supported.
Model autoencoder_kl(const JsonFields& config);

/// The decoder of AutoencoderKLFlux2 (diffusers 0.42.1: models/autoencoders/autoencoder_kl_flux2.py): the
/// same blocks, with widths of its own where the config has decoder_block_out_channels, which the small
/// decoder does.
Model autoencoder_kl_flux2(const JsonFields& config);

/// The decoder of AsymmetricAutoencoderKL (diffusers 0.42.1: models/autoencoders/autoencoder_asym_kl.py)
/// without a picture and a mask to mend it by: the same blocks under other keys.
Model asymmetric_autoencoder_kl(const JsonFields& config);

}  // namespace headroom
