#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderTiny (diffusers 0.42.1: models/autoencoders/autoencoder_tiny.py, with
/// DecoderTiny of vae.py and AutoencoderTinyBlock of models/unets/unet_2d_blocks.py) from its config. Throws
/// InputError naming a key whose value is not supported.
Model autoencoder_tiny(const JsonFields& config);

}  // namespace headroom
