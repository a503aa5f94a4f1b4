#pragma once

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

/// The decoder of diffusers' AutoencoderDC (diffusers 0.42.1: models/autoencoders/autoencoder_dc.py, with
/// SanaMultiscaleLinearAttention of models/attention_processor.py and GLUMBConv of
/// models/transformers/sana_transformer.py) from its config. Throws InputError naming a key whose value is
/// not supported.
Model autoencoder_dc(const JsonFields& config);

}  // namespace headroom
