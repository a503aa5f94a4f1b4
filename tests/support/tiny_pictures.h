#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/random.h"

// Configs of small picture decoders, for tests to modify, and random ones.
namespace headroom::test {

inline nlohmann::json tiny_autoencoder_tiny_config() {
  return {{"_class_name", "AutoencoderTiny"},
          {"latent_channels", 4},
          {"out_channels", 3},
          {"decoder_block_out_channels", {8, 8}},
          {"num_decoder_blocks", {1, 2}},
          {"act_fn", "relu"},
          {"scaling_factor", 1.0},
          {"shift_factor", 0.0}};
}

inline nlohmann::json random_autoencoder_tiny_config(Random& random) {
  nlohmann::json config = tiny_autoencoder_tiny_config();
  const int64_t stages = random.integer(1, 3), width = random.integer(1, 20);
  std::vector<int64_t> blocks;
  for (int64_t i = 0; i < stages; ++i) blocks.push_back(random.integer(0, 2));
  config["num_decoder_blocks"] = blocks;
  config["decoder_block_out_channels"] = std::vector<int64_t>(blocks.size(), width);
  config["latent_channels"] = random.integer(1, 6);
  config["out_channels"] = random.pick<int64_t>({1, 3});
  config["act_fn"] = random.pick<std::string>({"relu", "silu", "gelu", "mish"});
  config["upsampling_scaling_factor"] = random.pick<int64_t>({2, 2, 2, 3, 1});
  return config;
}

/// Random config of an AutoencoderTiny with TAEF2's norms.
inline nlohmann::json random_taef2_config(Random& random) {
  nlohmann::json config = random_autoencoder_tiny_config(random);
  std::vector<int64_t> blocks = config["num_decoder_blocks"];
  blocks[0] = random.integer(1, 3);
  config["num_decoder_blocks"] = blocks;
  config["use_midblock_gn"] = true;
  return config;
}

inline nlohmann::json tiny_hunyuan_image_config() {
  return {{"_class_name", "AutoencoderKLHunyuanImage"},
          {"latent_channels", 8},
          {"out_channels", 3},
          {"block_out_channels", {32, 64, 64}},
          {"layers_per_block", 1},
          {"spatial_compression_ratio", 4},
          {"scaling_factor", 0.75}};
}

inline nlohmann::json random_hunyuan_image_config(Random& random) {
  nlohmann::json config = tiny_hunyuan_image_config();
  const int64_t stages = random.integer(1, 3);
  const bool narrows = stages > 1 && random.chance(0.6);
  std::vector<int64_t> widths(static_cast<size_t>(stages), narrows ? 64 : 32);
  if (narrows) widths[0] = 32;
  config["block_out_channels"] = widths;
  config["spatial_compression_ratio"] = int64_t{1} << (narrows ? stages - 1 : random.integer(0, stages));
  config["layers_per_block"] = random.integer(0, 1);
  config["latent_channels"] = random.pick<int64_t>({4, 8});
  config["out_channels"] = random.pick<int64_t>({1, 3});
  return config;
}

/// Config of a small AutoencoderKLConv3D, HunyuanImage 3's.
inline nlohmann::json tiny_hunyuan_image_3_config() {
  return {{"_class_name", "AutoencoderKLConv3D"},
          {"latent_channels", 4},
          {"out_channels", 3},
          {"block_out_channels", {32, 64}},
          {"layers_per_block", 0},
          {"ffactor_spatial", 2},
          {"ffactor_temporal", 2}};
}

inline nlohmann::json random_hunyuan_image_3_config(Random& random) {
  nlohmann::json config = tiny_hunyuan_image_3_config();
  const int64_t stages = random.integer(1, 3);
  std::vector<int64_t> widths;
  for (int64_t i = 0; i < stages; ++i) widths.push_back(random.pick<int64_t>({32, 32, 64}));
  config["block_out_channels"] = widths;
  config["ffactor_spatial"] = int64_t{1} << (stages - 1);
  config["ffactor_temporal"] = int64_t{1} << random.integer(0, stages - 1);
  config["layers_per_block"] = stages < 3 ? random.integer(0, 1) : 0;
  config["upsample_match_channel"] = random.chance(0.7);
  return config;
}

}  // namespace headroom::test
