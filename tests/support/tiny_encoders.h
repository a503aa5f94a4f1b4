#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

// Random small encoders. Their configs extend those of decoders.
namespace headroom::test {

inline DrawnModel encoder_of(const nlohmann::json& config) {
  DrawnModel drawn(config);
  drawn.model = for_direction(drawn.model, Direction::encode);
  return drawn;
}

inline DrawnModel random_encoder(Random& random) {
  nlohmann::json config = random_config(random);
  config["in_channels"] = random.pick<int64_t>({1, 3});
  config["use_quant_conv"] = random.chance(0.5);
  return encoder_of(config);
}

inline DrawnModel random_dc_encoder(Random& random) {
  nlohmann::json config = random_dc_config(random);
  for (const char* key :
       {"block_out_channels", "layers_per_block", "block_types", "norm_types", "act_fns", "qkv_multiscales"})
    config[std::string("encoder_") + key] = config[std::string("decoder_") + key];
  config["downsample_block_type"] = random.chance(0.5) ? "conv" : "pixel_unshuffle";
  config["encoder_out_shortcut"] = random.chance(0.7);
  return encoder_of(config);
}

inline DrawnModel random_wan_encoder(Random& random) {
  return encoder_of(random_wan_config(random));
}

inline DrawnModel random_wan_22_encoder(Random& random) {
  nlohmann::json config = random_wan_22_config(random);
  // Shortcuts average channels, so the last width is one of the widths before it or a part of it.
  config["dim_mult"] =
      random.pick<std::vector<int64_t>>({{1, 1}, {1, 2, 2}, {1, 4, 4}, {2, 1, 1}, {1, 2, 1}});
  std::vector<bool> frames;
  for (size_t i = 1; i < config["dim_mult"].size(); ++i) frames.push_back(random.chance(0.6));
  config["temperal_downsample"] = frames;
  config["in_channels"] = config["out_channels"];
  return encoder_of(config);
}

inline DrawnModel random_autoencoder_tiny_encoder(Random& random) {
  nlohmann::json config = random_autoencoder_tiny_config(random);
  config["in_channels"] = random.pick<int64_t>({1, 3});
  config["num_encoder_blocks"] = config["num_decoder_blocks"];
  config["encoder_block_out_channels"] = config["decoder_block_out_channels"];
  return encoder_of(config);
}

inline DrawnModel random_hunyuan_image_encoder(Random& random) {
  nlohmann::json config = random_hunyuan_image_config(random);
  config["in_channels"] = random.pick<int64_t>({1, 3});
  return encoder_of(config);
}

inline DrawnModel random_hunyuan_video_encoder(Random& random) {
  nlohmann::json config = random_hunyuan_video_config(random);
  config["down_block_types"] =
      std::vector<std::string>(config["block_out_channels"].size(), "HunyuanVideoDownBlock3D");
  return encoder_of(config);
}

inline DrawnModel random_hunyuan_video_15_encoder(Random& random) {
  nlohmann::json config = random_hunyuan_video_15_config(random);
  config["downsample_match_channel"] = config["upsample_match_channel"];
  return encoder_of(config);
}

/// Random encoder of AutoencoderKLLTXVideo: with strides, and in part of them with one averaging
/// downsampling.
inline DrawnModel random_ltx_video_encoder(Random& random) {
  nlohmann::json config = tiny_ltx2_video_config();
  config["_class_name"] = "AutoencoderKLLTXVideo";
  const bool folds = random.chance(0.3);
  std::vector<int64_t> widths{random.pick<int64_t>({8, 16})}, layers;
  std::vector<std::string> blocks, kinds;
  std::vector<bool> downsamples;
  for (int64_t stages = random.integer(1, 3); stages > 0; --stages) {
    layers.push_back(random.integer(0, 1));
    downsamples.push_back(random.chance(0.8));
    blocks.push_back("LTXVideoDownBlock3D");
    kinds.push_back("conv");
    if (stages > 1) widths.push_back(random.pick<int64_t>({8, 16}));
  }
  if (folds) {
    blocks.back() = "LTXVideo095DownBlock3D";
    downsamples.back() = true;
    kinds.back() = random.pick<std::string>({"spatial", "temporal", "spatiotemporal", "conv"});
    widths.push_back(kinds.back() == "conv" ? widths.back() : 8 * random.integer(1, 2));
  }
  layers.push_back(random.integer(0, 1));
  config["block_out_channels"] = widths;
  config["layers_per_block"] = layers;
  config["spatio_temporal_scaling"] = downsamples;
  config["down_block_types"] = blocks;
  config["downsample_type"] = kinds;
  config["patch_size"] = random.pick<int64_t>({1, 2});
  return encoder_of(config);
}

/// Random encoder of AutoencoderKLMiniMaxH3, with runs long enough for any drawn clip.
inline DrawnModel random_minimax_h3_encoder(Random& random) {
  nlohmann::json config{{"_class_name", "AutoencoderKLMiniMaxH3"}, {"latent_channels", 4}};
  std::vector<int64_t> widths, pixels, frames;
  for (int64_t stages = random.integer(1, 3); stages > 0; --stages) {
    widths.push_back(random.pick<int64_t>({8, 16}));
    pixels.push_back(random.chance(0.7) ? 2 : 1);
    frames.push_back(pixels.back() == 2 && random.chance(0.6) ? 2 : 1);
  }
  config["block_out_channels"] = widths;
  config["spatial_downsample_factors"] = pixels;
  config["temporal_downsample_factors"] = frames;
  config["layers_per_block"] = random.integer(1, 2);
  config["norm_num_groups"] = random.pick<int64_t>({2, 4});
  config["spatial_padding_mode"] = random.pick<std::string>({"reflect", "replicate"});
  config["clip_length"] = 1 + 8 * 64;
  return encoder_of(config);
}

/// Random encoder of AutoencoderKLLTX2Video. Half of its downsamplings average channels.
inline DrawnModel random_ltx2_encoder(Random& random) {
  nlohmann::json config = tiny_ltx2_video_config();
  std::vector<int64_t> widths, layers;
  std::vector<std::string> kinds;
  std::vector<bool> downsamples;
  int64_t channels = config["latent_channels"];
  for (int64_t stages = random.integer(1, 3); stages > 0; --stages) {
    kinds.push_back(random.pick<std::string>({"spatial", "temporal", "spatiotemporal", "spatiotemporal"}));
    downsamples.push_back(random.chance(0.8));
    layers.push_back(random.integer(0, 1));
    const int64_t positions = kinds.back() == "spatial" ? 4 : kinds.back() == "temporal" ? 2 : 8;
    if (downsamples.back()) {
      const int64_t all = channels * positions, most = random.pick<int64_t>({16, 32});
      channels = all;
      // Norms over fewer than 8 channels may divide by nearly 0, which amplifies rounding errors.
      while (channels > most || (channels >= 16 && channels % (2 * positions) == 0 && random.chance(0.5)))
        channels /= 2;
    }
    widths.push_back(channels);
  }
  layers.push_back(random.integer(0, 1));
  config["block_out_channels"] = widths;
  config["layers_per_block"] = layers;
  config["spatio_temporal_scaling"] = downsamples;
  config["downsample_type"] = kinds;
  config["patch_size"] = random.pick<int64_t>({1, 2});
  config["encoder_causal"] = true;
  config["encoder_spatial_padding_mode"] = random.pick<std::string>({"zeros", "reflect", "replicate"});
  return encoder_of(config);
}

}  // namespace headroom::test
