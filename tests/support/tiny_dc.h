#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace headroom::test {

/// Config of a small AutoencoderDC, for tests to modify: two residual stages after one with linear attention.
inline nlohmann::json tiny_dc_config() {
  const std::vector<int64_t> none, one{5};
  return {{"_class_name", "AutoencoderDC"},
          {"in_channels", 3},
          {"latent_channels", 4},
          {"attention_head_dim", 4},
          {"decoder_block_types", {"ResBlock", "ResBlock", "EfficientViTBlock"}},
          {"decoder_block_out_channels", {8, 16, 16}},
          {"decoder_layers_per_block", {1, 2, 2}},
          {"decoder_qkv_multiscales", {none, none, one}},
          {"decoder_norm_types", "rms_norm"},
          {"decoder_act_fns", "silu"},
          {"upsample_block_type", "interpolate"},
          {"scaling_factor", 0.5}};
}

inline nlohmann::json random_dc_config(Random& random) {
  nlohmann::json config = tiny_dc_config();
  const int64_t stages = random.integer(1, 3);
  const int64_t coarsest = 4 * random.integer(4, 8);
  std::vector<int64_t> widths, layers;
  std::vector<std::string> types, norms, activations;
  std::vector<std::vector<int64_t>> scales;
  for (int64_t i = 0; i < stages; ++i) {
    widths.push_back(i == 0 && stages > 1 ? coarsest / 2 : coarsest);
    layers.push_back(random.integer(i == 0 && stages > 1 ? 0 : 1, 2));
    types.push_back(random.chance(0.5) ? "ResBlock" : "EfficientViTBlock");
    norms.push_back(random.chance(0.7) ? "rms_norm" : "batch_norm");
    activations.push_back(random.pick<std::string>({"silu", "relu", "gelu", "mish"}));
    scales.push_back(random.pick<std::vector<int64_t>>({{}, {5}, {3, 5}}));
  }
  config["decoder_block_out_channels"] = widths;
  config["decoder_layers_per_block"] = layers;
  config["decoder_block_types"] = types;
  config["decoder_norm_types"] = norms;
  config["decoder_act_fns"] = activations;
  config["decoder_qkv_multiscales"] = scales;
  config["upsample_block_type"] = random.chance(0.6) ? "interpolate" : "pixel_shuffle";
  // A head's result does not depend on the length of its query. With few channels a query can be as short as
  // rounding errors. Tiles that round differently would then give other results.
  config["attention_head_dim"] = random.pick<int64_t>({7, 8});
  config["decoder_in_shortcut"] = random.chance(0.7);
  config["in_channels"] = random.pick<int64_t>({1, 3});
  return config;
}

}  // namespace headroom::test
