#include "decoder/families/families.h"

#include "decoder/families/group_norm_blocks.h"
#include "decoder/families/group_norm_widths.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr int64_t kMostFrames = 1024;
constexpr double kEpsilon = 1e-6;  ///< the norms' only supported one, and that of GroupNormBlocks

/// Config with the defaults of diffusers' class.
struct Config {
  int64_t latent_channels = 24, picture_channels = 3;
  std::vector<int64_t> widths{128, 256, 256, 512, 512, 1024};               ///< from the finest resolution
  std::vector<int32_t> pixels{2, 2, 2, 2, 1, 1}, frames{1, 2, 2, 1, 1, 1};  ///< strides behind each stage
  int64_t layers = 2;
  int32_t groups = 32;
  Edges edges = Edges::reflect;
  int64_t clip_frames = 17, dropped_latent_frames = 3;
};

/// A stride of 1 or 2 for each of the `stages`.
std::vector<int32_t> strides(const JsonFields& json, const char* key, std::vector<int32_t> otherwise,
                             size_t stages) {
  if (json.has(key)) {
    otherwise.clear();
    for (size_t i = 0; i < json[key].size(stages); ++i)
      otherwise.push_back(static_cast<int32_t>(json[key][i].integer(1, 2)));
  }
  if (otherwise.size() != stages)
    json.fail(std::string(key) + ": expected as many as block_out_channels has, " + std::to_string(stages) +
              ", found " + std::to_string(otherwise.size()));
  return otherwise;
}

Edges padding(const JsonFields& mode) {
  if (mode.text() == "reflect") return Edges::reflect;
  if (mode.text() == "replicate") return Edges::replicate;
  mode.fail("expected reflect or replicate, found '" + mode.text() + "'");
}

Config read_config(const JsonFields& json) {
  Config config;
  config.latent_channels = json.integer_or("latent_channels", 1, 1024, config.latent_channels);
  config.picture_channels = json.integer_or("in_channels", 1, 1024, config.picture_channels);
  config.layers = json.integer_or("layers_per_block", 1, kMostLayers, config.layers);
  config.groups = static_cast<int32_t>(json.integer_or("norm_num_groups", 1, kMostChannels, config.groups));
  if (json.has("norm_eps") && json["norm_eps"].number() != kEpsilon) json["norm_eps"].fail("expected 1e-06");
  if (json.has("spatial_padding_mode")) config.edges = padding(json["spatial_padding_mode"]);
  if (json.has("block_out_channels")) config.widths = read_widths(json["block_out_channels"], config.groups);
  config.pixels = strides(json, "spatial_downsample_factors", config.pixels, config.widths.size());
  config.frames = strides(json, "temporal_downsample_factors", config.frames, config.widths.size());
  for (size_t stage = 0; stage < config.widths.size(); ++stage) {
    if (config.frames[stage] > config.pixels[stage])
      json.fail(
          "temporal_downsample_factors: expected a spatial factor of 2 beside each 2, found 1: without it "
          "the class pads no edges");
  }
  config.clip_frames = json.integer_or("clip_length", 1, kMostFrames, config.clip_frames);
  int64_t step = 1;
  for (int32_t stride : config.frames) step *= stride;
  if ((config.clip_frames - 1) % step != 0)
    json["clip_length"].fail("expected 1 plus a multiple of " + std::to_string(step) + ", found " +
                             std::to_string(config.clip_frames));
  config.dropped_latent_frames =
      json.integer_or("token_drop", 0, (config.clip_frames - 1) / step, config.dropped_latent_frames);
  return config;
}

/// Causal convolutions, with zeros before the first frame. Norms see one frame at a time.
Graph encoder(const JsonFields& json) {
  const Config config = read_config(json);
  const ConvolutionTraits traits{.over_frames = true, .edges = config.edges};
  Graph graph;
  GroupNormBlocks blocks(graph, config.groups, Activation::silu, {"", traits}, true);
  Axes<int32_t> scale{1, 1, 1};
  for (size_t stage = 0; stage < config.widths.size(); ++stage) {
    scale.t *= config.frames[stage];
    scale.y *= config.pixels[stage];
    scale.x *= config.pixels[stage];
  }
  TensorId x = graph.add_picture(config.picture_channels, scale);
  x = blocks.conv("encoder.conv_in", x, config.widths.front(), 3);
  for (size_t stage = 0; stage < config.widths.size(); ++stage) {
    const std::string name = "encoder.down_blocks." + std::to_string(stage);
    for (int64_t layer = 0; layer < config.layers; ++layer)
      x = blocks.resnet(name + ".resnets." + std::to_string(layer), x, config.widths[stage]);
    const Axes<int32_t> stride{config.frames[stage], config.pixels[stage], config.pixels[stage]};
    if (stride == Axes<int32_t>{1, 1, 1}) continue;
    ConvolutionTraits down = traits;
    down.begins_at_own = stride.y > 1;
    x = graph.strided_conv(name + ".downsamplers.0.conv", x, config.widths[stage], {3, 3, 3}, stride, down);
  }
  x = blocks.normalised("encoder.norm_out", x, Activation::silu);
  const int64_t moments = 2 * config.latent_channels;
  x = blocks.conv("encoder.conv_out", x, moments, 3);
  graph.set_output(graph.conv("quant_conv", x, moments, {1, 1, 1}, {.over_frames = true}));
  return graph;
}

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.why_no_decoder =
      "Headroom does not decode with MiniMax-H3's VAE: the published decoder blends tiles and cross-fades "
      "clips, so an exact decode would differ from it";
  model.graph = encoder(json);
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  model.scaled_by_channel = true;
  model.latents_mean = channel_values(json, "latents_mean");
  model.latents_std = channel_values(json, "latents_std");
  model.encoded_clips = {config.clip_frames, config.dropped_latent_frames};
  return model;
}

}  // namespace

// diffusers 0.42.1: models/autoencoders/autoencoder_kl_minimax_h3.py. The built-in config has the defaults of
// that class, without the statistics of latents.
std::vector<Family> minimax_h3_families() {
  return {
      {.class_name = "AutoencoderKLMiniMaxH3",
       .source_file = "autoencoder_kl_minimax_h3.py",
       .built_ins = {{"minimax-h3",
                      R"({"_class_name": "AutoencoderKLMiniMaxH3", "in_channels": 3, "latent_channels": 24,
           "block_out_channels": [128, 256, 256, 512, 512, 1024], "layers_per_block": 2,
           "spatial_downsample_factors": [2, 2, 2, 2, 1, 1], "temporal_downsample_factors": [1, 2, 2, 1, 1, 1],
           "norm_num_groups": 32, "norm_eps": 1e-06, "spatial_padding_mode": "reflect", "clip_length": 17,
           "token_drop": 3})"}},
       .build = build,
       .encoder = encoder}};
}

}  // namespace headroom
