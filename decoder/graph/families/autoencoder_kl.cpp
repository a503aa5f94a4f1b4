#include "decoder/graph/families/autoencoder_kl.h"

#include "decoder/graph/activation.h"
#include "decoder/graph/latent_channels.h"

namespace headroom {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr int64_t kMostChannels = 1 << 16;

struct Config {
  int64_t latent_channels = 4;
  int64_t out_channels = 3;
  std::vector<int64_t> widths{64};
  int64_t layers_per_block = 1;
  int32_t groups = 32;
  Activation activation = Activation::silu;
  bool mid_attention = true;
  bool post_quant_conv = true;
};

Config read_config(const JsonFields& json) {
  Config config;
  const auto integer = [&](const char* key, int64_t most, int64_t otherwise) {
    return json.has(key) && !json[key].is_null() ? json[key].integer(1, most) : otherwise;
  };
  const auto flag = [&](const char* key, bool otherwise) {
    return json.has(key) ? json[key].boolean() : otherwise;
  };

  config.latent_channels = integer("latent_channels", 1024, config.latent_channels);
  config.out_channels = integer("out_channels", 1024, config.out_channels);
  config.layers_per_block = integer("layers_per_block", 64, config.layers_per_block);
  config.groups = static_cast<int32_t>(integer("norm_num_groups", kMostChannels, config.groups));
  config.mid_attention = flag("mid_block_add_attention", config.mid_attention);
  config.post_quant_conv = flag("use_post_quant_conv", config.post_quant_conv);
  if (json.has("act_fn")) config.activation = parse_activation(json["act_fn"]);

  if (json.has("block_out_channels")) {
    const JsonFields widths = json["block_out_channels"];
    config.widths.clear();
    for (size_t i = 0; i < widths.size(8); ++i) {
      config.widths.push_back(widths[i].integer(1, kMostChannels));
      if (config.widths.back() % config.groups != 0) {
        widths[i].fail("expected a multiple of norm_num_groups = " + std::to_string(config.groups) +
                       ", found " + std::to_string(config.widths.back()));
      }
    }
    if (config.widths.empty()) widths.fail("expected at least one width");
  }
  size_t blocks = 1;
  if (json.has("up_block_types")) {
    const JsonFields types = json["up_block_types"];
    blocks = types.size(8);
    for (size_t i = 0; i < blocks; ++i) {
      if (types[i].text() != "UpDecoderBlock2D") {
        types[i].fail("'" + types[i].text() + "' is not supported; expected UpDecoderBlock2D");
      }
    }
  }
  if (blocks != config.widths.size()) {
    json.fail("up_block_types: expected as many as block_out_channels has, " +
              std::to_string(config.widths.size()) + ", found " + std::to_string(blocks));
  }
  return config;
}

/// Adds the decoder's blocks to a graph. Shapes are N×C×1×H×W.
class Builder {
 public:
  Builder(const Config& config, Graph& graph) : config_(config), graph_(graph) {}

  TensorId resnet(const std::string& name, TensorId x, int64_t channels) {
    TensorId h = normalised(name + ".norm1", x, config_.activation);
    h = graph_.conv(name + ".conv1", h, channels, {1, 3, 3});
    h = normalised(name + ".norm2", h, config_.activation);
    h = graph_.conv(name + ".conv2", h, channels, {1, 3, 3});
    const bool same = graph_.tensor(x).channels == channels;
    const TensorId shortcut = same ? x : graph_.conv(name + ".conv_shortcut", x, channels, {1, 1, 1});
    return graph_.add(name, h, shortcut);
  }

  TensorId attention(const std::string& name, TensorId x) {
    const int64_t channels = graph_.tensor(x).channels;
    const TensorId normed = normalised(name + ".group_norm", x, Activation::none);
    const TensorId q = graph_.conv(name + ".to_q", normed, channels, {1, 1, 1});
    const TensorId k = graph_.conv(name + ".to_k", normed, channels, {1, 1, 1});
    const TensorId v = graph_.conv(name + ".to_v", normed, channels, {1, 1, 1});
    const TensorId mixed = graph_.attention(name + ".attention", q, k, v);
    return graph_.add(name, graph_.conv(name + ".to_out.0", mixed, channels, {1, 1, 1}), x);
  }

  TensorId upsample(const std::string& name, TensorId x) {
    return graph_.upsampled_conv(name + ".conv", x, graph_.tensor(x).channels);
  }

  TensorId normalised(const std::string& name, TensorId x, Activation activation) {
    const TensorId statistics = graph_.statistics(name + ".statistics", x, config_.groups, kEpsilon);
    return graph_.norm(name, x, statistics, activation);
  }

  void decoder() {
    TensorId x = graph_.add_latent(config_.latent_channels);
    if (config_.post_quant_conv) x = graph_.conv("post_quant_conv", x, config_.latent_channels, {1, 1, 1});
    x = graph_.conv("decoder.conv_in", x, config_.widths.back(), {1, 3, 3});
    x = resnet("decoder.mid_block.resnets.0", x, config_.widths.back());
    if (config_.mid_attention) x = attention("decoder.mid_block.attentions.0", x);
    x = resnet("decoder.mid_block.resnets.1", x, config_.widths.back());
    for (size_t block = 0; block < config_.widths.size(); ++block) {
      const std::string name = "decoder.up_blocks." + std::to_string(block);
      const int64_t width = config_.widths[config_.widths.size() - 1 - block];
      for (int64_t layer = 0; layer <= config_.layers_per_block; ++layer) {
        x = resnet(name + ".resnets." + std::to_string(layer), x, width);
      }
      if (block + 1 < config_.widths.size()) x = upsample(name + ".upsamplers.0", x);
    }
    x = normalised("decoder.conv_norm_out", x, Activation::silu);
    graph_.set_output(graph_.conv("decoder.conv_out", x, config_.out_channels, {1, 3, 3}));
  }

 private:
  const Config& config_;
  Graph& graph_;
};

}  // namespace

Model autoencoder_kl(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.class_name = "AutoencoderKL";
  model.latent_channels = config.latent_channels;
  Builder(config, model.graph).decoder();
  const auto number = [&](const char* key, double otherwise) {
    return json.has(key) && !json[key].is_null() ? json[key].number() : otherwise;
  };
  model.scaling_factor = number("scaling_factor", 0.18215);
  if (model.scaling_factor == 0) json["scaling_factor"].fail("expected a number other than 0");
  model.shift_factor = number("shift_factor", 0);
  model.latents_mean = channel_values(json, "latents_mean");
  model.latents_std = channel_values(json, "latents_std");
  model.force_upcast = json.has("force_upcast") ? json["force_upcast"].boolean() : true;
  return model;
}

}  // namespace headroom
