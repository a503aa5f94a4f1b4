#include "decoder/families/families.h"

#include <algorithm>

#include "decoder/families/activation.h"
#include "decoder/families/group_norm_blocks.h"
#include "decoder/families/group_norm_widths.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
/// The only frame compression that diffusers' decoder supports.
constexpr int64_t kFrameCompression = 4;
constexpr size_t kFrameDoublings = 2;

/// Config with the defaults of diffusers' class.
struct Config {
  int64_t latent_channels = 16;
  int64_t picture_channels = 3;
  std::vector<int64_t> widths{128, 256, 512, 512};  ///< from the finest resolution
  int64_t layers = 2;
  int32_t groups = 32;
  Activation activation = Activation::silu;
  bool mid_attention = true;
  int64_t compression = 8;  ///< pixels along each side of a latent position
};

/// True if `stage` resamples rows and columns after its blocks. The decoder counts stages from the coarsest,
/// the encoder from the finest.
bool resamples_pixels(const Config& config, size_t stage) {
  return (int64_t{2} << stage) <= config.compression;
}
/// True if `stage` resamples frames after its blocks.
bool resamples_frames(const Config& config, size_t stage) {
  const size_t later = config.widths.size() - 1 - stage;
  return later >= 1 && later <= kFrameDoublings;
}

/// Config keys that differ between the decoder and the encoder.
struct Keys {
  const char* picture_channels = "out_channels";
  const char* block_types = "up_block_types";
  const char* block = "HunyuanVideoUpBlock3D";
};
constexpr Keys kEncoderKeys{"in_channels", "down_block_types", "HunyuanVideoDownBlock3D"};

Config read_config(const JsonFields& json, const Keys& keys = {}) {
  Config config;
  config.latent_channels = json.integer_or("latent_channels", 1, 1024, config.latent_channels);
  config.picture_channels = json.integer_or(keys.picture_channels, 1, 1024, config.picture_channels);
  config.layers = json.integer_or("layers_per_block", 0, kMostLayers, config.layers);
  config.groups = static_cast<int32_t>(json.integer_or("norm_num_groups", 1, kMostChannels, config.groups));
  config.compression = json.integer_or("spatial_compression_ratio", 1, 1 << kMostStages, config.compression);
  const int64_t frames = json.integer_or("temporal_compression_ratio", 1, kMostChannels, kFrameCompression);
  if (frames != kFrameCompression)
    json["temporal_compression_ratio"].fail("expected " + std::to_string(kFrameCompression) + ", found " +
                                            std::to_string(frames));
  if (json.has("mid_block_add_attention")) config.mid_attention = json["mid_block_add_attention"].boolean();
  if (json.has("act_fn")) config.activation = parse_activation(json["act_fn"]);
  config.widths = read_group_norm_widths(json, keys.block, config.widths, config.groups, keys.block_types);
  return config;
}

/// Adds the blocks of the decoder or the encoder to a graph. Every convolution is a submodule named `conv`.
/// Convolutions replicate the picture's edges and the first frame.
class Builder {
 public:
  Builder(const Config& config, Graph& graph)
      : config_(config), graph_(graph), blocks_(graph, config.groups, config.activation, convolutions()) {}

  void decoder() {
    const size_t stages = config_.widths.size();
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = graph_.conv("post_quant_conv", x, config_.latent_channels, {1, 1, 1}, {.over_frames = true});
    x = blocks_.conv("decoder.conv_in", x, config_.widths.back(), 3);
    x = mid_block("decoder", x);
    for (size_t stage = 0; stage < stages; ++stage) {
      const std::string name = "decoder.up_blocks." + std::to_string(stage);
      const int64_t width = config_.widths[stages - 1 - stage];
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, width);
      x = upsample(name + ".upsamplers.0", x, resamples_frames(config_, stage),
                   resamples_pixels(config_, stage));
    }
    x = blocks_.normalised("decoder.conv_norm_out", x, Activation::silu);
    graph_.set_output(blocks_.conv("decoder.conv_out", x, config_.picture_channels, 3));
  }

  void encoder() {
    const size_t stages = config_.widths.size();
    const auto stride = [&](size_t stage) {
      return Axes<int32_t>{resamples_frames(config_, stage) ? 2 : 1, resamples_pixels(config_, stage) ? 2 : 1,
                           resamples_pixels(config_, stage) ? 2 : 1};
    };
    Axes<int32_t> scale{1, 1, 1};
    for (size_t stage = 0; stage < stages; ++stage)
      scale = per_axis([](int32_t a, int32_t b) { return a * b; }, scale, stride(stage));
    TensorId x = graph_.add_picture(config_.picture_channels, scale);
    x = blocks_.conv("encoder.conv_in", x, config_.widths.front(), 3);
    for (size_t stage = 0; stage < stages; ++stage) {
      const std::string name = "encoder.down_blocks." + std::to_string(stage);
      for (int64_t layer = 0; layer < config_.layers; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, config_.widths[stage]);
      if (stride(stage) != Axes<int32_t>{1, 1, 1}) {
        x = graph_.strided_conv(name + ".downsamplers.0.conv.conv", x, config_.widths[stage], {3, 3, 3},
                                stride(stage), convolutions().traits);
      }
    }
    x = mid_block("encoder", x);
    x = blocks_.normalised("encoder.conv_norm_out", x, Activation::silu);
    const int64_t moments = 2 * config_.latent_channels;
    x = blocks_.conv("encoder.conv_out", x, moments, 3);
    graph_.set_output(graph_.conv("quant_conv", x, moments, {1, 1, 1}, {.over_frames = true}));
  }

 private:
  TensorId mid_block(const std::string& side, TensorId x) {
    const std::string name = side + ".mid_block.";
    x = blocks_.resnet(name + "resnets.0", x, config_.widths.back());
    if (config_.mid_attention)
      x = blocks_.attention(name + "attentions.0", x, {.frames = AttentionFrames::up_to_own});
    return blocks_.resnet(name + "resnets.1", x, config_.widths.back());
  }

  static ConvolutionKind convolutions() {
    return {".conv",
            {.over_frames = true, .before_first = BeforeFirst::first_frame, .edges = Edges::replicate}};
  }

  TensorId upsample(const std::string& name, TensorId x, bool frames, bool pixels) {
    if (!frames && !pixels) return x;
    const int64_t channels = graph_.tensor(x).channels;
    if (frames) x = graph_.repeat_frames(name + ".frames", x);
    return pixels ? blocks_.upsampled_conv(name + ".conv", x, channels)
                  : blocks_.conv(name + ".conv", x, channels, 3);
  }

  const Config& config_;
  Graph& graph_;
  GroupNormBlocks blocks_;
};

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, 0.476986);
  return model;
}

Graph encoder(const JsonFields& json) {
  const Config config = read_config(json, kEncoderKeys);
  Graph graph;
  Builder(config, graph).encoder();
  return graph;
}

}  // namespace

// HunyuanVideo's, diffusers 0.42.1: models/autoencoders/autoencoder_kl_hunyuan_video.py. The built-in config
// has the defaults of that class.
std::vector<Family> hunyuan_video_families() {
  return {{.class_name = "AutoencoderKLHunyuanVideo",
           .source_file = "autoencoder_kl_hunyuan_video.py",
           .original_names = {.key = "hunyuan_video"},
           .built_ins =
               {{"hunyuan-video",
                 R"({"_class_name": "AutoencoderKLHunyuanVideo", "out_channels": 3, "latent_channels": 16,
           "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "act_fn": "silu", "norm_num_groups": 32,
           "up_block_types": ["HunyuanVideoUpBlock3D", "HunyuanVideoUpBlock3D", "HunyuanVideoUpBlock3D",
                              "HunyuanVideoUpBlock3D"],
           "spatial_compression_ratio": 8, "temporal_compression_ratio": 4, "mid_block_add_attention": true,
           "scaling_factor": 0.476986})"}},
           .build = build,
           .encoder = encoder}};
}

}  // namespace headroom
