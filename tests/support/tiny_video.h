#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace headroom::test {

/// Config of a small AutoencoderKLWan, for tests to modify.
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

/// Random config of an upscaling AutoencoderKLWan, whose channels become pixels.
inline nlohmann::json random_wan_upscale_config(Random& random) {
  nlohmann::json config = random_wan_config(random);
  const int64_t side = random.integer(2, 3);
  config["_class_name"] = "AutoencoderKLWan";
  config["pixel_shuffle"] = side;
  config["out_channels"] = random.pick<int64_t>({1, 3, 4}) * side * side;
  return config;
}

/// Config of a small AutoencoderKLWan in Wan 2.2's variant: shortcuts around all blocks of a resolution, and
/// patches.
inline nlohmann::json tiny_wan_22_config() {
  nlohmann::json config = tiny_wan_config();
  config["is_residual"] = true;
  config["patch_size"] = 2;
  config["in_channels"] = config["out_channels"] = 12;
  return config;
}

/// Random config of this variant, or of AutoencoderKLQwenImage21, which decodes single pictures.
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

/// Config of a small CausalVAEModel. Norms have 32 groups, so it needs at least 32 channels.
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

/// Config of a small AutoencoderKLHunyuanVideo.
inline nlohmann::json tiny_hunyuan_video_config() {
  return {{"_class_name", "AutoencoderKLHunyuanVideo"},
          {"latent_channels", 4},
          {"block_out_channels", {8, 16}},
          {"up_block_types", {"HunyuanVideoUpBlock3D", "HunyuanVideoUpBlock3D"}},
          {"layers_per_block", 1},
          {"norm_num_groups", 4},
          {"spatial_compression_ratio", 2}};
}

inline nlohmann::json random_hunyuan_video_config(Random& random) {
  nlohmann::json config = tiny_hunyuan_video_config();
  std::vector<int64_t> widths;
  const int64_t stages = random.integer(1, 3);
  for (int64_t i = 0; i < stages; ++i) widths.push_back(random.pick<int64_t>({8, 16}));
  config["block_out_channels"] = widths;
  config["up_block_types"] = std::vector<std::string>(static_cast<size_t>(stages), "HunyuanVideoUpBlock3D");
  config["layers_per_block"] = random.integer(0, 1);
  config["norm_num_groups"] = random.pick<int64_t>({1, 4});
  config["spatial_compression_ratio"] = random.pick<int64_t>({1, 2, 4});
  config["mid_block_add_attention"] = random.chance(0.7);
  return config;
}

/// Config of a small AutoencoderKLHunyuanVideo15.
inline nlohmann::json tiny_hunyuan_video_15_config() {
  return {{"_class_name", "AutoencoderKLHunyuanVideo15"},
          {"latent_channels", 4},
          {"block_out_channels", {8, 16}},
          {"layers_per_block", 1},
          {"spatial_compression_ratio", 2},
          {"temporal_compression_ratio", 2}};
}

inline nlohmann::json random_hunyuan_video_15_config(Random& random) {
  nlohmann::json config = tiny_hunyuan_video_15_config();
  const int64_t stages = random.integer(1, 3);
  std::vector<int64_t> widths;
  for (int64_t i = 0; i < stages; ++i) widths.push_back(random.pick<int64_t>({8, 16}));
  const int64_t most = int64_t{1} << (stages - 1);
  config["block_out_channels"] = widths;
  config["layers_per_block"] = random.integer(0, 1);
  config["spatial_compression_ratio"] = random.pick<int64_t>({1, most, most});
  config["temporal_compression_ratio"] = random.pick<int64_t>({1, std::min<int64_t>(2, most), most});
  config["upsample_match_channel"] = random.chance(0.7);
  return config;
}

/// Config of a small TAEHV.
inline nlohmann::json tiny_taehv_config() {
  return {{"_class_name", "TAEHV"},
          {"latent_channels", 4},
          {"decoder_block_out_channels", {8, 6, 6, 4}},
          {"num_decoder_blocks", {1, 1, 1}}};
}

inline nlohmann::json random_taehv_config(Random& random) {
  nlohmann::json config = tiny_taehv_config();
  std::vector<int64_t> blocks, widths{random.integer(1, 20)};
  std::vector<bool> frames, pixels;
  for (int64_t i = random.integer(1, 3); i > 0; --i) {
    blocks.push_back(random.integer(0, 2));
    widths.push_back(random.integer(1, 20));
    frames.push_back(random.chance(0.6));
    pixels.push_back(random.chance(0.7));
  }
  config["num_decoder_blocks"] = blocks;
  config["decoder_block_out_channels"] = widths;
  config["decoder_time_upscale"] = frames;
  config["decoder_space_upscale"] = pixels;
  config["patch_size"] = random.pick<int64_t>({1, 1, 2, 3});
  config["out_channels"] = random.pick<int64_t>({1, 3});
  return config;
}

/// Config of a small VideoAutoencoderKLWrapper, SeedVR2's.
inline nlohmann::json tiny_seedvr2_config() {
  return {{"_class_name", "VideoAutoencoderKLWrapper"},
          {"latent_channels", 4},
          {"block_out_channels", {8, 16}},
          {"up_block_types", {"UpDecoderBlock3D", "UpDecoderBlock3D"}},
          {"layers_per_block", 1},
          {"norm_num_groups", 4},
          {"temporal_scale_num", 1},
          {"use_post_quant_conv", false}};
}

inline nlohmann::json random_seedvr2_config(Random& random) {
  nlohmann::json config = tiny_seedvr2_config();
  std::vector<int64_t> widths;
  const int64_t stages = random.integer(1, 3);
  for (int64_t i = 0; i < stages; ++i) widths.push_back(random.pick<int64_t>({8, 16}));
  config["block_out_channels"] = widths;
  config["up_block_types"] = std::vector<std::string>(static_cast<size_t>(stages), "UpDecoderBlock3D");
  config["layers_per_block"] = random.integer(0, 1);
  config["norm_num_groups"] = random.pick<int64_t>({1, 4});
  config["temporal_scale_num"] = random.integer(0, 2);
  config["attention"] = random.chance(0.7);
  config["use_post_quant_conv"] = random.chance(0.3);
  return config;
}

/// Config of a small AutoencoderKLCogVideoX.
inline nlohmann::json tiny_cogvideox_config() {
  return {{"_class_name", "AutoencoderKLCogVideoX"},
          {"latent_channels", 4},
          {"block_out_channels", {8, 8, 16}},
          {"layers_per_block", 1},
          {"norm_num_groups", 4},
          {"up_block_types", std::vector<std::string>(3, "CogVideoXUpBlock3D")}};
}

inline nlohmann::json random_cogvideox_config(Random& random) {
  nlohmann::json config = tiny_cogvideox_config();
  const auto widths = random.pick<std::vector<int64_t>>({{8}, {8, 16}, {16, 8}, {8, 8, 16}, {8, 16, 16}});
  config["block_out_channels"] = widths;
  config["up_block_types"] = std::vector<std::string>(widths.size(), "CogVideoXUpBlock3D");
  config["layers_per_block"] = random.integer(0, 1);
  config["latent_channels"] = random.pick<int64_t>({3, 4, 16});
  config["out_channels"] = random.pick<int64_t>({1, 3});
  config["temporal_compression_ratio"] = random.pick<int64_t>({1, 2, 4, 4});
  return config;
}

/// Config of a small AutoencoderKLTemporalDecoder. Norms have 32 groups, so it needs at least 32 channels.
inline nlohmann::json tiny_temporal_decoder_config() {
  return {{"_class_name", "AutoencoderKLTemporalDecoder"},
          {"latent_channels", 4},
          {"block_out_channels", {32, 64}},
          {"layers_per_block", 2}};
}

inline nlohmann::json random_temporal_decoder_config(Random& random) {
  nlohmann::json config = tiny_temporal_decoder_config();
  config["block_out_channels"] =
      random.pick<std::vector<int64_t>>({{32}, {32, 32}, {32, 64}, {64, 32}, {32, 32, 32}});
  config["layers_per_block"] = random.integer(1, 2);
  config["out_channels"] = random.pick<int64_t>({1, 3});
  return config;
}

/// Config of a small AutoencoderKLHunyuanImageRefiner.
inline nlohmann::json tiny_hunyuan_image_refiner_config() {
  nlohmann::json config = tiny_hunyuan_video_15_config();
  config["_class_name"] = "AutoencoderKLHunyuanImageRefiner";
  return config;
}

inline nlohmann::json random_hunyuan_image_refiner_config(Random& random) {
  nlohmann::json config = random_hunyuan_video_15_config(random);
  config["_class_name"] = "AutoencoderKLHunyuanImageRefiner";
  return config;
}

/// Config of a small AutoencoderKLLTX2Video.
inline nlohmann::json tiny_ltx2_video_config() {
  return {{"_class_name", "AutoencoderKLLTX2Video"},
          {"latent_channels", 4},
          {"decoder_block_out_channels", {16, 32}},
          {"decoder_layers_per_block", {1, 1, 1}},
          {"decoder_spatio_temporal_scaling", {true, true}},
          {"upsample_type", {"spatiotemporal", "spatiotemporal"}},
          {"upsample_residual", {true, true}},
          {"upsample_factor", {2, 2}},
          {"patch_size", 1},
          {"decoder_causal", false}};
}

/// Config of a small AutoencoderKLLTXVideo that is given a time step.
inline nlohmann::json conditioned_ltx_video_config() {
  return {{"_class_name", "AutoencoderKLLTXVideo"},
          {"latent_channels", 4},
          {"decoder_block_out_channels", {8, 16, 32}},
          {"decoder_layers_per_block", {1, 1, 1, 1}},
          {"decoder_spatio_temporal_scaling", {true, true, true}},
          {"upsample_residual", {true, false, true}},
          {"upsample_factor", {2, 2, 2}},
          {"timestep_conditioning", true},
          {"patch_size", 1}};
}

inline nlohmann::json random_conditioned_ltx_video_config(Random& random) {
  nlohmann::json config = conditioned_ltx_video_config();
  config["decoder_layers_per_block"] = {random.integer(0, 2), random.integer(0, 1), 1, random.integer(0, 1)};
  config["upsample_residual"] = random.chance(0.5);
  config["decoder_causal"] = random.chance(0.5);
  config["patch_size"] = random.integer(1, 2);
  return config;
}

/// Random config of AutoencoderKLLTX2Video or AutoencoderKLLTXVideo. Kernels mostly read one frame ahead.
inline nlohmann::json random_ltx_video_config(Random& random) {
  nlohmann::json config = tiny_ltx2_video_config();
  const bool first = random.chance(0.3);
  if (first) config["_class_name"] = "AutoencoderKLLTXVideo";
  const int64_t stages = random.integer(1, 2);
  std::vector<int64_t> widths, layers{random.integer(0, 1)}, divisors;
  std::vector<bool> upsamples, residual;
  std::vector<std::string> kinds;
  // Coarsest stage first. About half of the widths follow from the stage before.
  int64_t width = random.pick<int64_t>({16, 32});
  for (int64_t i = 0; i < stages; ++i) {
    const bool up = random.chance(0.8), halves = up && (i == 0 || random.chance(0.5));
    if (i > 0 && !halves && up && random.chance(0.5)) width = 8;  // makes a residual block with a shortcut
    widths.insert(widths.begin(), width);
    divisors.insert(divisors.begin(), halves ? 2 : 1);
    if (halves) width /= 2;
    upsamples.insert(upsamples.begin(), up);
    residual.insert(residual.begin(), random.chance(0.6));
    layers.insert(layers.begin(), random.integer(0, 1));
    kinds.push_back(random.pick<std::string>({"spatial", "temporal", "spatiotemporal", "spatiotemporal"}));
  }
  config["decoder_block_out_channels"] = widths;
  config["decoder_layers_per_block"] = layers;
  config["decoder_spatio_temporal_scaling"] = upsamples;
  config["upsample_type"] = kinds;
  config["upsample_residual"] = residual;
  config["upsample_factor"] = divisors;
  config["patch_size"] = random.pick<int64_t>({1, 2});
  config["decoder_causal"] = random.chance(0.2);
  if (!first)
    config["decoder_spatial_padding_mode"] = random.pick<std::string>({"zeros", "reflect", "replicate"});
  return config;
}

}  // namespace headroom::test
