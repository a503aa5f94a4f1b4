#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "tests/support/random.h"

namespace headroom::test {

/// Config of a small AutoencoderKL, for tests to modify.
inline nlohmann::json tiny_config(const std::vector<int64_t>& widths = {8, 16}) {
  return {{"_class_name", "AutoencoderKL"},
          {"latent_channels", 4},
          {"out_channels", 3},
          {"block_out_channels", widths},
          {"layers_per_block", 1},
          {"norm_num_groups", 4},
          {"act_fn", "silu"},
          {"scaling_factor", 0.5},
          {"down_block_types", std::vector<std::string>(widths.size(), "DownEncoderBlock2D")},
          {"up_block_types", std::vector<std::string>(widths.size(), "UpDecoderBlock2D")}};
}

inline nlohmann::json random_config(Random& random) {
  std::vector<int64_t> widths;
  for (int64_t i = random.pick<int64_t>({1, 2, 2, 3}); i > 0; --i) widths.push_back(8 * random.integer(1, 3));
  nlohmann::json config = tiny_config(widths);
  config["latent_channels"] = random.integer(1, 6);
  config["out_channels"] = random.integer(1, 4);
  config["layers_per_block"] = random.pick<int64_t>({1, 1, 2});
  config["norm_num_groups"] = random.pick<int64_t>({1, 2, 4, 8});
  config["act_fn"] = random.pick<std::string>({"silu", "silu", "swish", "relu", "gelu", "mish"});
  config["mid_block_add_attention"] = random.chance(0.6);
  config["use_post_quant_conv"] = random.chance(0.5);
  return config;
}

inline Model model_of(const nlohmann::json& config) {
  return parse_model(config.dump(), "config.json");
}

/// A random model, from a config or built by hand, and its description for test messages.
struct DrawnModel {
  Model model;
  std::string text;
  DrawnModel(const nlohmann::json& config) : model(model_of(config)), text(config.dump()) {}  // NOLINT
  DrawnModel(const Model& built) : model(built), text(built.name) {}                          // NOLINT
};

}  // namespace headroom::test
