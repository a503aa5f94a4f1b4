#include <string>

#include "decoder/families/activation.h"
#include "decoder/families/families.h"
#include "decoder/families/group_norm_widths.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
/// Epsilon of all norms of the decoder. The class uses `norm_eps` in its encoder only.
constexpr double kEpsilon = 1e-6;
/// Latent frames that diffusers decodes at a time, after the clip's first one.
constexpr int32_t kRunFrames = 2;

/// Config with the defaults of diffusers' class.
struct Config {
  int64_t latent_channels = 16;
  int64_t out_channels = 3;
  std::vector<int64_t> widths{128, 256, 256, 512};  ///< from the finest resolution
  int64_t layers = 3;
  int32_t groups = 32;
  Activation activation = Activation::silu;
  size_t frame_doublings = 2;
};

/// The number of upsamplings that double frames, from the compression of the time.
size_t read_frame_doublings(const JsonFields& field) {
  const double ratio = field.number();
  for (size_t doublings = 0; doublings <= 3; ++doublings) {
    if (ratio == double(1 << doublings)) return doublings;
  }
  field.fail("expected 1, 2, 4 or 8");
}

Config read_config(const JsonFields& json) {
  Config config;
  config.latent_channels = json.integer_or("latent_channels", 1, 1024, config.latent_channels);
  config.out_channels = json.integer_or("out_channels", 1, 1024, config.out_channels);
  config.layers = json.integer_or("layers_per_block", 0, kMostLayers, config.layers);
  config.groups = static_cast<int32_t>(json.integer_or("norm_num_groups", 1, kMostChannels, config.groups));
  if (json.has("act_fn")) config.activation = parse_activation(json["act_fn"]);
  if (json.has("temporal_compression_ratio"))
    config.frame_doublings = read_frame_doublings(json["temporal_compression_ratio"]);
  if (json.has("use_post_quant_conv") && json["use_post_quant_conv"].boolean())
    json["use_post_quant_conv"].fail("true is not supported");
  config.widths = read_group_norm_widths(json, "CogVideoXUpBlock3D", config.widths, config.groups);
  return config;
}

/// Adds the decoder's blocks to a graph. Convolutions repeat the first frame before it, and read zeros
/// outside the picture. Each norm is followed by a scale and a shift, two 1×1 convolutions of the upsampled
/// latent.
class Builder {
 public:
  Builder(const Config& config, Graph& graph) : config_(config), graph_(graph) {}

  void decoder() {
    const size_t stages = config_.widths.size();
    latent_ = graph_.add_latent(config_.latent_channels);
    TensorId x = conv("decoder.conv_in", latent_, config_.widths.back());
    for (const char* block : {"decoder.mid_block.resnets.0", "decoder.mid_block.resnets.1"})
      x = resnet(block, x, config_.widths.back());
    for (size_t stage = 0; stage < stages; ++stage) {
      const std::string name = "decoder.up_blocks." + std::to_string(stage);
      const int64_t width = config_.widths[stages - 1 - stage];
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = resnet(name + ".resnets." + std::to_string(layer), x, width);
      if (stage + 1 < stages) x = upsample(name + ".upsamplers.0", x, stage < config_.frame_doublings);
    }
    x = normalised("decoder.norm_out", x, Activation::silu);
    graph_.set_output(conv("decoder.conv_out", x, config_.out_channels));
  }

 private:
  TensorId conv(const std::string& name, TensorId x, int64_t channels) {
    return graph_.conv(name + ".conv", x, channels, {3, 3, 3},
                       {.over_frames = true, .before_first = BeforeFirst::first_frame});
  }

  /// The convolution treats each frame by itself, so repeating its results equals repeating its inputs.
  TensorId upsample(const std::string& name, TensorId x, bool frames) {
    x = graph_.upsampled_conv(name + ".conv", x, graph_.tensor(x).channels);
    return frames ? graph_.repeat_frames(name + ".frames", x) : x;
  }

  /// A 1×1 convolution of nearest upsampling equals the upsampling of its result. So scale and shift are made
  /// from the latent itself.
  TensorId scale_and_shift(const std::string& name, const Axes<int32_t>& scale, int64_t channels) {
    const TensorId made =
        graph_.conv(name + ".conv_y_b", latent_, 2 * channels, {1, 1, 1},
                    {.stacked = {name + ".conv_y.conv", name + ".conv_b.conv"}, .over_frames = true});
    if (scale == Axes<int32_t>{1, 1, 1}) return made;
    return graph_.repeated_depth_to_space(name + ".zq", made, 2 * channels, scale, scale.t);
  }

  TensorId normalised(const std::string& name, TensorId x, Activation activation) {
    const Tensor from = graph_.tensor(x);
    const TensorId statistics = graph_.statistics_of_runs(name + ".statistics", x, config_.groups, kEpsilon,
                                                          kRunFrames * from.scale.t);
    const TensorId normed = graph_.norm(name + ".norm_layer", x, statistics, Activation::none);
    return graph_.modulate(name, normed, scale_and_shift(name, from.scale, from.channels), activation);
  }

  TensorId resnet(const std::string& name, TensorId x, int64_t channels) {
    TensorId h = conv(name + ".conv1", normalised(name + ".norm1", x, config_.activation), channels);
    h = conv(name + ".conv2", normalised(name + ".norm2", h, config_.activation), channels);
    if (graph_.tensor(x).channels != channels)
      x = graph_.conv(name + ".conv_shortcut", x, channels, {1, 1, 1}, {.over_frames = true});
    return graph_.add(name, h, x);
  }

  const Config& config_;
  Graph& graph_;
  TensorId latent_{};
};

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  model.latent_frame_step = kRunFrames;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, 1.15258426);
  return model;
}

/// The names of the model's authors.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  const std::string level = "{" + std::to_string(count_of(stored, "decoder.up.#.") - 1) + "-a}";
  const RenamedStarts shortcut{{"conv_shortcut.", "nin_shortcut."}};
  return {{"decoder.mid_block.resnets.#.", "decoder.mid.block_{a+1}."},
          {"decoder.up_blocks.#.upsamplers.0.", "decoder.up." + level + ".upsample."},
          {"decoder.up_blocks.#.resnets.#.", "decoder.up." + level + ".block.{b}.", shortcut},
          {"", ""}};
}

constexpr const char* kConfig =
    R"({"_class_name": "AutoencoderKLCogVideoX", "out_channels": 3, "latent_channels": 16,
    "block_out_channels": [128, 256, 256, 512], "layers_per_block": 3, "act_fn": "silu", "norm_num_groups": 32,
    "up_block_types": ["CogVideoXUpBlock3D", "CogVideoXUpBlock3D", "CogVideoXUpBlock3D", "CogVideoXUpBlock3D"],
    "temporal_compression_ratio": 4, "use_post_quant_conv": false, "scaling_factor": )";

}  // namespace

// CogVideoX's, diffusers 0.42.1: models/autoencoders/autoencoder_kl_cogvideox.py and models/upsampling.py.
// The built-in configs are those of zai-org/CogVideoX-2b, and of 5b and 1.5.
std::vector<Family> cogvideox_families() {
  return {{.class_name = "AutoencoderKLCogVideoX",
           .source_file = "autoencoder_kl_cogvideox.py",
           .original_names = {.key = "cogvideox",
                              .decoder_mark = "decoder.mid.block_1.norm1.norm_layer.weight",
                              .first = true,
                              .renamings = renamings},
           .built_ins = {{"cogvideox", kConfig + std::string("0.7}"), {}, {"cogvideox-5b", "cogvideox-1.5"}},
                         {"cogvideox-2b", kConfig + std::string("1.15258426}")}},
           .build = build}};
}

}  // namespace headroom
