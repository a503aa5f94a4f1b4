#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace headroom::test {

/// The config of a small AutoencoderKLWan, to be changed key by key.
inline nlohmann::json tiny_wan_config() {
  return {{"_class_name", "AutoencoderKLWan"},
          {"base_dim", 8},
          {"z_dim", 4},
          {"dim_mult", {1, 2, 2}},
          {"num_res_blocks", 1},
          {"temperal_downsample", {false, true}}};
}

inline nlohmann::json random_wan_config(Random& random) {
  nlohmann::json config = tiny_wan_config();
  config["base_dim"] = random.pick<int64_t>({4, 8, 16});
  const int64_t stages = random.integer(1, 3);
  std::vector<int64_t> multiples;
  std::vector<bool> frames;
  for (int64_t i = 0; i < stages; ++i) {
    multiples.push_back(i == 0 ? 1 : 2);
    if (i > 0) frames.push_back(random.chance(0.6));
  }
  config["dim_mult"] = multiples;
  config["temperal_downsample"] = frames;
  if (random.chance(0.3)) config["_class_name"] = "AutoencoderKLQwenImage";
  return config;
}

/// The config of a small AutoencoderKLWan as Wan 2.2 has it: shortcuts around all blocks of a resolution, and
/// patches.
inline nlohmann::json tiny_wan_22_config() {
  nlohmann::json config = tiny_wan_config();
  config["is_residual"] = true;
  config["patch_size"] = 2;
  config["out_channels"] = 12;
  return config;
}

/// Of the same network, or of AutoencoderKLQwenImage21, which decodes single pictures.
inline nlohmann::json random_wan_22_config(Random& random) {
  nlohmann::json config = tiny_wan_22_config();
  config["base_dim"] = random.pick<int64_t>({4, 8});
  // Channels are repeated 8, 4, 2 times, or once.
  config["dim_mult"] =
      random.pick<std::vector<int64_t>>({{1, 1}, {1, 2, 2}, {1, 1, 4}, {2, 1, 1}, {1, 2, 4}});
  std::vector<bool> frames;
  for (size_t i = 1; i < config["dim_mult"].size(); ++i) frames.push_back(random.chance(0.6));
  config["temperal_downsample"] = frames;
  if (random.chance(0.3)) {
    config["patch_size"] = nullptr;
    config["out_channels"] = 3;
  }
  if (random.chance(0.2)) {
    config["_class_name"] = "AutoencoderKLQwenImage21";
    config["decoder_base_dim"] = nullptr;
  }
  return config;
}

/// The config of a small CausalVAEModel. Its norms have 32 groups, so it has no fewer channels.
inline nlohmann::json tiny_causal_config() {
  return {{"_class_name", "CausalVAEModel"},
          {"hidden_size", 32},
          {"z_channels", 4},
          {"embed_dim", 4},
          {"hidden_size_mult", {1, 1}},
          {"num_res_blocks", 1},
          {"attn_resolutions", nlohmann::json::array()},
          {"resolution", 16},
          {"decoder_attention", "AttnBlock3DFix"},
          {"decoder_mid_resnet", "ResnetBlock3D"},
          {"decoder_resnet_blocks", {"ResnetBlock3D", "ResnetBlock3D"}},
          {"decoder_spatial_upsample", {"", "SpatialUpsample2x"}},
          {"decoder_temporal_upsample", {"", "TimeUpsampleRes2x"}}};
}

inline nlohmann::json random_causal_config(Random& random) {
  nlohmann::json config = tiny_causal_config();
  const int64_t stages = random.integer(1, 2);
  std::vector<int64_t> multiples;
  std::vector<std::string> blocks, space, frames;
  for (int64_t i = 0; i < stages; ++i) {
    multiples.push_back(1);
    blocks.push_back(random.chance(0.7) ? "ResnetBlock3D" : "ResnetBlock2D");
    space.push_back(i == 0 ? ""
                           : random.pick<std::string>({"", "SpatialUpsample2x", "Upsample",
                                                       "Spatial2x3DUpsample", "Spatial2xTime2x3DUpsample"}));
    frames.push_back(random.pick<std::string>({"", "TimeUpsample2x", "TimeUpsampleRes2x"}));
  }
  config["hidden_size_mult"] = multiples;
  config["decoder_resnet_blocks"] = blocks;
  config["decoder_spatial_upsample"] = space;
  config["decoder_temporal_upsample"] = frames;
  config["decoder_attention"] = random.pick<std::string>({"AttnBlock3D", "AttnBlock3DFix", "AttnBlock"});
  config["decoder_mid_resnet"] =
      random.pick<std::string>({"ResnetBlock3D", "ResnetBlock3D", "ResnetBlock2D"});
  config["decoder_conv_in"] = random.pick<std::string>({"CausalConv3d", "Conv2d"});
  config["use_quant_layer"] = random.chance(0.7);
  return config;
}

}  // namespace headroom::test
