#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKLWan as of Wan 2.1 (diffusers 0.42.1:
/// models/autoencoders/autoencoder_kl_wan.py) from its config. Wan 2.2's residual blocks and patches are
/// refused. Throws InputError naming a key whose value is not supported.
Model autoencoder_kl_wan(const JsonFields& config);

/// The same of AutoencoderKLQwenImage (autoencoder_kl_qwenimage.py): the same network.
Model autoencoder_kl_qwen_image(const JsonFields& config);

}  // namespace headroom
