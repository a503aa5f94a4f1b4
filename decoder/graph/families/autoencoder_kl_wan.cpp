#include "decoder/graph/families/autoencoder_kl_wan.h"

#include "decoder/graph/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
/// Below this length a pixel's channels are not scaled to length 1 (torch.nn.functional.normalize).
constexpr double kLeastLength = 1e-12;

struct Config {
  int64_t width = 96;
  int64_t latent_channels = 16;
  int64_t out_channels = 3;
  int64_t layers = 2;
  std::vector<int64_t> multiples{1, 2, 4, 4};               ///< of the width, from the finest resolution
  std::vector<bool> frames_downsampled{false, true, true};  ///< between them, in the encoder's order
};

/// `picture_channels` is the class's key for the channels of its output.
Config read_config(const JsonFields& json, const char* picture_channels) {
  Config config;
  const auto integer = [&](const char* key, int64_t most, int64_t otherwise) {
    return json.has(key) && !json[key].is_null() ? json[key].integer(1, most) : otherwise;
  };
  config.width = integer("decoder_base_dim", kMostChannels, integer("base_dim", kMostChannels, config.width));
  config.latent_channels = integer("z_dim", 1024, config.latent_channels);
  config.out_channels = integer(picture_channels, 1024, config.out_channels);
  config.layers = integer("num_res_blocks", kMostLayers, config.layers);
  if (json.has("dim_mult")) {
    const JsonFields list = json["dim_mult"];
    config.multiples.clear();
    for (size_t i = 0; i < list.size(kMostStages); ++i) config.multiples.push_back(list[i].integer(1, 64));
    if (config.multiples.empty()) list.fail("expected at least one multiple");
  }
  if (json.has("temperal_downsample")) {
    const JsonFields list = json["temperal_downsample"];
    config.frames_downsampled.clear();
    for (size_t i = 0; i < list.size(kMostStages); ++i)
      config.frames_downsampled.push_back(list[i].boolean());
  }
  if (config.frames_downsampled.size() + 1 != config.multiples.size()) {
    json.fail("temperal_downsample: expected one fewer than dim_mult has, " +
              std::to_string(config.multiples.size() - 1) + ", found " +
              std::to_string(config.frames_downsampled.size()));
  }
  if (json.has("is_residual") && json["is_residual"].boolean())
    json["is_residual"].fail("the residual blocks of Wan 2.2 are not supported; expected false");
  if (json.has("patch_size") && !json["patch_size"].is_null() && json["patch_size"].integer(1, 64) != 1)
    json["patch_size"].fail("patches are not supported; expected null");
  return config;
}

/// Adds the decoder's blocks to a graph, with an optional cut point behind each residual block and
/// upsampling: behind the only attention no barrier ends a pass.
class Builder {
 public:
  Builder(const Config& config, const JsonFields& json, Graph& graph)
      : config_(config), json_(json), graph_(graph) {}

  void decoder() {
    const int64_t widest = config_.width * config_.multiples.back();
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = conv("post_quant_conv", x, config_.latent_channels, {1, 1, 1});
    x = conv("decoder.conv_in", x, widest, {3, 3, 3});
    x = resnet("decoder.mid_block.resnets.0", x, widest);
    x = attention("decoder.mid_block.attentions.0", x);
    x = resnet("decoder.mid_block.resnets.1", x, widest);
    const size_t stages = config_.multiples.size();
    for (size_t i = 0; i < stages; ++i) {
      const std::string name = "decoder.up_blocks." + std::to_string(i);
      const int64_t width = config_.width * config_.multiples[stages - 1 - i];
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = resnet(name + ".resnets." + std::to_string(layer), x, width);
      if (i + 1 == stages) break;
      x = upsample(name + ".upsamplers.0", x, config_.frames_downsampled[stages - 2 - i]);
    }
    x = norm("decoder.norm_out", x, Activation::silu, kOverFrames);
    ConvolutionTraits traits{.activation = Activation::clamp, .over_frames = true};
    graph_.set_output(graph_.conv("decoder.conv_out", x, config_.out_channels, {3, 3, 3}, traits));
  }

 private:
  // Axes of extent 1 behind the channels of a norm's parameter.
  static constexpr int32_t kOverFrames = 3, kByFrame = 2;

  TensorId conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel) {
    return graph_.conv(name, x, channels, kernel, {.over_frames = true});
  }

  TensorId norm(const std::string& name, TensorId x, Activation activation, int32_t axes) {
    const double epsilon = kLeastLength * kLeastLength / double(graph_.tensor(x).channels);
    return graph_.rms_norm(name, x, epsilon, activation, axes);
  }

  TensorId with_cut_point(TensorId x) {
    graph_.add_cut_point(x);
    return x;
  }

  TensorId resnet(const std::string& name, TensorId x, int64_t channels) {
    TensorId h = norm(name + ".norm1", x, Activation::silu, kOverFrames);
    h = conv(name + ".conv1", h, channels, {3, 3, 3});
    h = norm(name + ".norm2", h, Activation::silu, kOverFrames);
    h = conv(name + ".conv2", h, channels, {3, 3, 3});
    const bool same = graph_.tensor(x).channels == channels;
    return with_cut_point(
        graph_.add(name, h, same ? x : conv(name + ".conv_shortcut", x, channels, {1, 1, 1})));
  }

  TensorId attention(const std::string& name, TensorId x) {
    const int64_t channels = graph_.tensor(x).channels;
    const TensorId normed = norm(name + ".norm", x, Activation::none, kByFrame);
    const auto part = [&](const char* of, int32_t index) {
      return graph_.conv(name + of, normed, channels, {1, 1, 1},
                         {.part_of = name + ".to_qkv", .part = index, .parts = 3});
    };
    const TensorId q = part(".to_q", 0), k = part(".to_k", 1), v = part(".to_v", 2);
    const TensorId mixed = graph_.attention(name + ".attention", q, k, v);
    return graph_.add(name, graph_.conv(name + ".proj", mixed, channels, {1, 1, 1}), x);
  }

  /// Frames first: each after the first becomes two, by a convolution over the frames after the first alone.
  TensorId upsample(const std::string& name, TensorId x, bool frames) {
    const int64_t channels = graph_.tensor(x).channels;
    if (channels < 2) json_["base_dim"].fail("expected at least 2 channels where it upsamples");
    if (frames) {
      const TensorId folded =
          graph_.conv(name + ".time_conv", x, 2 * channels, {3, 1, 1},
                      {.over_frames = true, .before_first = BeforeFirst::zeros_for_it_too});
      x = graph_.unfold_frames(name + ".frames", x, folded);
    }
    return with_cut_point(graph_.upsampled_conv(name + ".resample.1", x, channels / 2));
  }

  const Config& config_;
  const JsonFields& json_;
  Graph& graph_;
};

Model build(const char* class_name, const JsonFields& json, const char* picture_channels) {
  const Config config = read_config(json, picture_channels);
  Model model;
  model.class_name = class_name;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  Builder(config, json, model.graph).decoder();
  model.latents_mean = channel_values(json, "latents_mean");
  model.latents_std = channel_values(json, "latents_std");
  return model;
}

}  // namespace

Model autoencoder_kl_wan(const JsonFields& config) {
  return build("AutoencoderKLWan", config, "out_channels");
}

Model autoencoder_kl_qwen_image(const JsonFields& config) {
  return build("AutoencoderKLQwenImage", config, "input_channels");
}

}  // namespace headroom
