#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKLHunyuanVideo, of HunyuanVideo (diffusers 0.42.1:
/// models/autoencoders/autoencoder_kl_hunyuan_video.py), from its config. Throws InputError naming a key
/// whose value is not supported.
Model autoencoder_kl_hunyuan_video(const JsonFields& config);

}  // namespace headroom
