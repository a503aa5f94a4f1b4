#include "decoder/families/activation.h"
#include "decoder/families/families.h"
#include "decoder/families/group_norm_blocks.h"
#include "decoder/families/group_norm_widths.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
constexpr const char* kBlock = "UpDecoderBlock3D";
/// SeedVR2 divides latents by this factor. The published class does not have it; its configs_3b/main.yaml
/// does.
constexpr double kScalingFactor = 0.9152;

/// Config with the defaults of the published class.
struct Config {
  int64_t latent_channels = 4;
  int64_t picture_channels = 3;
  std::vector<int64_t> widths{64};  ///< from the finest resolution
  int64_t layers = 1;
  int32_t groups = 32;
  Activation activation = Activation::silu;
  bool attention = true;
  bool quant_conv = true;  ///< a 1×1 convolution of the latent
  int64_t frame_doublings = 2;
};

Config read_config(const JsonFields& json) {
  Config config;
  const auto integer = [&](const char* key, int64_t least, int64_t most, int64_t otherwise) {
    return json.has(key) ? json[key].integer(least, most) : otherwise;
  };
  config.latent_channels = integer("latent_channels", 1, 1024, config.latent_channels);
  config.picture_channels = integer("out_channels", 1, 1024, config.picture_channels);
  config.layers = integer("layers_per_block", 0, kMostLayers, config.layers);
  config.groups = static_cast<int32_t>(integer("norm_num_groups", 1, kMostChannels, config.groups));
  config.frame_doublings = integer("temporal_scale_num", 0, kMostStages, config.frame_doublings);
  if (json.has("attention")) config.attention = json["attention"].boolean();
  if (json.has("use_post_quant_conv")) config.quant_conv = json["use_post_quant_conv"].boolean();
  if (json.has("act_fn")) config.activation = parse_activation(json["act_fn"]);
  if (json.has("time_receptive_field") && json["time_receptive_field"].text() != "full")
    json["time_receptive_field"].fail("expected \"full\", found \"" + json["time_receptive_field"].text() +
                                      "\"");
  config.widths = read_group_norm_widths(json, kBlock, config.widths, config.groups);
  return config;
}

/// The encoder's part of a config.
Config read_encoder(const JsonFields& json) {
  Config config = read_config(json);
  config.picture_channels = json.has("in_channels") ? json["in_channels"].integer(1, 1024) : 3;
  config.quant_conv = !json.has("use_quant_conv") || json["use_quant_conv"].boolean();
  return config;
}

/// Adds the blocks of the decoder or the encoder to a graph. Convolutions repeat the first frame before the
/// beginning. Norms and attention treat each frame on its own.
class Builder {
 public:
  Builder(const Config& config, Graph& graph)
      : config_(config),
        graph_(graph),
        blocks_(graph, config.groups, config.activation,
                {"", {.over_frames = true, .before_first = BeforeFirst::first_frame}}, true) {}

  void decoder() {
    const size_t stages = config_.widths.size();
    TensorId x = graph_.add_latent(config_.latent_channels);
    if (config_.quant_conv) x = blocks_.conv("post_quant_conv", x, config_.latent_channels, 1);
    x = blocks_.conv("decoder.conv_in", x, config_.widths.back(), 3);
    x = mid_block("decoder", x);
    for (size_t stage = 0; stage < stages; ++stage) {
      const std::string name = "decoder.up_blocks." + std::to_string(stage);
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, config_.widths[stages - 1 - stage]);
      if (stage + 1 < stages) {
        const int32_t frames = static_cast<int64_t>(stage) < config_.frame_doublings ? 2 : 1;
        x = upsample(name + ".upsamplers.0", x, frames);
      }
    }
    x = blocks_.normalised("decoder.conv_norm_out", x, Activation::silu);
    graph_.set_output(blocks_.conv("decoder.conv_out", x, config_.picture_channels, 3));
  }

  void encoder() {
    const size_t stages = config_.widths.size();
    const auto halves_frames = [&](size_t stage) {
      return static_cast<int64_t>(stage) + 1 + config_.frame_doublings >= static_cast<int64_t>(stages);
    };
    Axes<int32_t> scale{1, 1, 1};
    for (size_t stage = 0; stage + 1 < stages; ++stage)
      scale = {halves_frames(stage) ? 2 * scale.t : scale.t, 2 * scale.y, 2 * scale.x};
    TensorId x = graph_.add_picture(config_.picture_channels, scale);
    x = blocks_.conv("encoder.conv_in", x, config_.widths.front(), 3);
    for (size_t stage = 0; stage < stages; ++stage) {
      const std::string name = "encoder.down_blocks." + std::to_string(stage);
      for (int64_t layer = 0; layer < config_.layers; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, config_.widths[stage]);
      if (stage + 1 == stages) continue;
      const bool frames = halves_frames(stage);
      x = graph_.strided_conv(
          name + ".downsamplers.0.conv", x, config_.widths[stage], {frames ? 3 : 1, 3, 3},
          {frames ? 2 : 1, 2, 2},
          {.over_frames = true, .before_first = BeforeFirst::first_frame, .begins_at_own = true});
    }
    x = mid_block("encoder", x);
    x = blocks_.normalised("encoder.conv_norm_out", x, Activation::silu);
    const int64_t moments = 2 * config_.latent_channels;
    x = blocks_.conv("encoder.conv_out", x, moments, 3);
    graph_.set_output(config_.quant_conv ? blocks_.conv("quant_conv", x, moments, 1) : x);
  }

 private:
  TensorId mid_block(const std::string& side, TensorId x) {
    x = blocks_.resnet(side + ".mid_block.resnets.0", x, config_.widths.back());
    if (config_.attention) x = blocks_.attention(side + ".mid_block.attentions.0", x, {});
    return blocks_.resnet(side + ".mid_block.resnets.1", x, config_.widths.back());
  }

  /// Doubles rows and columns, and makes `frames` frames of each frame after the first.
  TensorId upsample(const std::string& name, TensorId x, int32_t frames) {
    const int64_t channels = graph_.tensor(x).channels;
    const Axes<int32_t> factor{frames, 2, 2};
    x = blocks_.conv(name + ".upscale_conv", x, channels * 4 * frames, 1);
    x = graph_.repeated_depth_to_space(name + ".depth_to_space", x, channels, factor, frames,
                                       DepthOrder::frame_within_pixel);
    return blocks_.conv(name + ".conv", x, channels, 3);
  }

  const Config& config_;
  Graph& graph_;
  GroupNormBlocks blocks_;
};

Graph encoder(const JsonFields& json) {
  const Config config = read_encoder(json);
  Graph graph;
  Builder(config, graph).encoder();
  return graph;
}

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, kScalingFactor);
  return model;
}

}  // namespace

// SeedVR2's (ByteDance-Seed/SeedVR: models/video_vae_v3/modules/attn_video_vae.py). The built-in config has
// the values of models/video_vae_v3/s8_c16_t4_inflation_sd3.yaml.
std::vector<Family> video_autoencoder_kl_families() {
  return {{.class_name = "VideoAutoencoderKLWrapper",
           .source_file = "attn_video_vae.py",
           .in_diffusers = false,
           .original_names = {.key = "seedvr2",
                              .decoder_mark = "decoder.up_blocks.0.upsamplers.0.upscale_conv.weight"},
           .built_ins =
               {{"seedvr2",
                 R"({"_class_name": "VideoAutoencoderKLWrapper", "out_channels": 3, "latent_channels": 16,
           "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "act_fn": "silu", "norm_num_groups": 32,
           "up_block_types": ["UpDecoderBlock3D", "UpDecoderBlock3D", "UpDecoderBlock3D", "UpDecoderBlock3D"],
           "temporal_scale_num": 2, "use_quant_conv": false, "use_post_quant_conv": false, "scaling_factor": 0.9152})"}},
           .build = build,
           .encoder = encoder}};
}

}  // namespace headroom
