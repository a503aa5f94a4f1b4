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
