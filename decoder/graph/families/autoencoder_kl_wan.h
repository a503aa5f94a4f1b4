#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderKLWan (diffusers 0.42.1: models/autoencoders/autoencoder_kl_wan.py)
/// from its config: Wan 2.1's, and with `is_residual` and `patch_size` Wan 2.2's. Throws InputError naming a
/// key whose value is not supported.
Model autoencoder_kl_wan(const JsonFields& config);

/// The same of AutoencoderKLQwenImage (autoencoder_kl_qwenimage.py): the same network.
Model autoencoder_kl_qwen_image(const JsonFields& config);

/// Of AutoencoderKLQwenImage21 (autoencoder_kl_qwenimage21.py): Wan 2.2's network for single pictures, with
/// kernels of rows and columns.
Model autoencoder_kl_qwen_image_21(const JsonFields& config);

}  // namespace headroom
