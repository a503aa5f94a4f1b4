#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKLHunyuanVideo15, of HunyuanVideo 1.5 (diffusers 0.42.1:
/// models/autoencoders/autoencoder_kl_hunyuanvideo15.py), from its config. Throws InputError naming a key
/// whose value is not supported.
Model autoencoder_kl_hunyuan_video_15(const JsonFields& config);

}  // namespace headroom
