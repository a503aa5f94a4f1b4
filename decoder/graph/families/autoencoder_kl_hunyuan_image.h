#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKLHunyuanImage, of HunyuanImage 2.1 (diffusers 0.42.1:
/// models/autoencoders/autoencoder_kl_hunyuanimage.py), from its config. Throws InputError naming a key whose
/// value is not supported.
Model autoencoder_kl_hunyuan_image(const JsonFields& config);

}  // namespace headroom
