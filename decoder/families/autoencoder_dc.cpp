#include "decoder/families/families.h"

#include <functional>

#include "decoder/families/activation.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kAttentionEpsilon = 1e-15;
constexpr int64_t kExpansion = 4;  // channel expansion of the gated block, for each of its halves
constexpr int64_t kMostChannels = 1 << 16;
constexpr int64_t kMostHeadChannels = 256;
constexpr int64_t kMostLayers = 64;
constexpr int64_t kWidestKernel = 31;
constexpr size_t kMostStages = 8;
constexpr size_t kMostScales = 6;

enum class Block { residual, efficient_vit };
enum class Norm { rms, batch };

/// Blocks of one resolution, counted from the finest.
struct Stage {
  int64_t width = 0;
  int64_t layers = 3;
  Block block = Block::residual;
  std::vector<int32_t> scales{};  ///< kernels of the attention's multi-scale aggregation
  Norm norm = Norm::rms;
  Activation activation = Activation::silu;
};

struct Config {
  int64_t picture_channels = 3;
  int64_t latent_channels = 32;
  int64_t head_channels = 32;
  bool upsamples = false;  ///< true: nearest upsampling before the convolution; false: depth to space after
                           ///< it
  bool in_shortcut = true;
  Activation out_activation = Activation::relu;
  std::vector<Stage> stages;
};

/// Reads one of two words.
template <typename T>
T one_of(const JsonFields& field, const char* a, T is_a, const char* b, T is_b) {
  const std::string text = field.text();
  if (text == a) return is_a;
  if (text != b) field.fail("'" + text + "' is not supported; expected " + a + " or " + b);
  return is_b;
}

/// Decoder and encoder have config keys that differ in their prefix.
struct Side {
  std::string prefix;
  std::vector<int64_t> default_layers;
  std::string key(const char* name) const { return prefix + "_" + name; }
};
const Side kDecoder{"decoder", {3, 3, 3, 3, 3, 3}};
const Side kEncoder{"encoder", {2, 2, 2, 2, 2, 2}};

/// Reads a value for each stage: a list, or one value for all stages if the class allows it.
void for_stages(const JsonFields& json, const Side& side, const char* name, bool one_for_all,
                std::vector<Stage>& stages, const std::function<void(const JsonFields&, Stage&)>& read) {
  const std::string key = side.key(name);
  if (!json.has(key)) return;
  const JsonFields list = json[key];
  if (one_for_all && !list.is_array()) {
    for (Stage& stage : stages) read(list, stage);
    return;
  }
  if (list.size(kMostStages) != stages.size()) {
    list.fail("expected as many as " + side.key("block_out_channels") + " has, " +
              std::to_string(stages.size()) + ", found " + std::to_string(list.size(kMostStages)));
  }
  for (size_t i = 0; i < stages.size(); ++i) read(list[i], stages[i]);
}

std::vector<Stage> default_stages(const Side& side) {
  std::vector<Stage> stages;
  for (int64_t width : {128, 256, 512, 512, 1024, 1024})
    stages.push_back({.width = width, .layers = side.default_layers[stages.size()]});
  for (size_t i = 3; i < stages.size(); ++i) stages[i].scales = {5};
  return stages;
}

std::vector<Stage> read_stages(const JsonFields& json, const Side& side) {
  std::vector<Stage> stages = default_stages(side);
  if (json.has(side.key("block_out_channels"))) {
    const JsonFields widths = json[side.key("block_out_channels")];
    const size_t count = widths.size(kMostStages);
    if (count == 0) widths.fail("expected at least one width");
    // The other lists have six entries unless the config says otherwise.
    if (count != stages.size()) {
      for (const char* name : {"layers_per_block", "qkv_multiscales"})
        static_cast<void>(json[side.key(name)]);
    }
    stages.resize(count);
  }
  const auto read = [&](const char* name, bool one_for_all,
                        const std::function<void(const JsonFields&, Stage&)>& field) {
    for_stages(json, side, name, one_for_all, stages, field);
  };
  read("block_out_channels", false,
       [](const JsonFields& field, Stage& stage) { stage.width = field.integer(1, kMostChannels); });
  read("layers_per_block", false,
       [](const JsonFields& field, Stage& stage) { stage.layers = field.integer(0, kMostLayers); });
  read("block_types", true, [](const JsonFields& field, Stage& stage) {
    stage.block = one_of(field, "ResBlock", Block::residual, "EfficientViTBlock", Block::efficient_vit);
  });
  read("norm_types", true, [](const JsonFields& field, Stage& stage) {
    stage.norm = one_of(field, "rms_norm", Norm::rms, "batch_norm", Norm::batch);
  });
  read("act_fns", true,
       [](const JsonFields& field, Stage& stage) { stage.activation = parse_activation(field); });
  read("qkv_multiscales", false, [](const JsonFields& field, Stage& stage) {
    stage.scales.clear();
    for (size_t i = 0; i < field.size(kMostScales); ++i) {
      stage.scales.push_back(static_cast<int32_t>(field[i].integer(1, kWidestKernel)));
      if (stage.scales.back() % 2 == 0)
        field[i].fail("expected an odd kernel, found " + std::to_string(stage.scales.back()));
    }
  });
  return stages;
}

/// Checks that the channels of consecutive stages fit together, including the repeated channels of shortcuts.
void check_widths(const JsonFields& json, const Config& config) {
  const std::vector<Stage>& stages = config.stages;
  const auto fail = [&](const char* key, size_t i, const std::string& what) {
    json.fail(std::string(key) + "[" + std::to_string(i) + "]: " + what);
  };
  const std::string widths = "decoder_block_out_channels";
  int64_t channels = stages.back().width;
  if (config.in_shortcut && channels % config.latent_channels != 0) {
    fail(widths.c_str(), stages.size() - 1,
         "expected a multiple of latent_channels = " + std::to_string(config.latent_channels) + ", found " +
             std::to_string(channels));
  }
  for (size_t i = stages.size(); i-- > 0;) {
    const Stage& stage = stages[i];
    if (stage.layers == 0) continue;
    if (i + 1 < stages.size()) {
      if (stages[i + 1].width != channels) {
        fail("decoder_layers_per_block", i + 1,
             "expected blocks between stages of " + std::to_string(channels) + " and " +
                 std::to_string(stages[i + 1].width) + " channels, found 0");
      }
      if (4 * stage.width % channels != 0) {
        fail(widths.c_str(), i,
             "expected a multiple of a quarter of the next width, " + std::to_string(channels) + ", found " +
                 std::to_string(stage.width));
      }
    }
    channels = stage.width;
    if (stage.block == Block::efficient_vit && stage.width < config.head_channels) {
      fail(widths.c_str(), i,
           "expected at least attention_head_dim = " + std::to_string(config.head_channels) + ", found " +
               std::to_string(stage.width));
    }
  }
  if (stages[0].layers > 0) return;
  if (stages.size() < 2 || stages[1].width != channels)
    fail("decoder_layers_per_block", 0, "expected blocks in this stage, or in the next, found 0");
}

/// The keys that decoder and encoder share.
Config read_shared(const JsonFields& json) {
  Config config;
  const auto integer = [&](const char* key, int64_t most, int64_t& value) {
    if (json.has(key)) value = json[key].integer(1, most);
  };
  integer("in_channels", 1024, config.picture_channels);
  integer("latent_channels", 1024, config.latent_channels);
  integer("attention_head_dim", kMostHeadChannels, config.head_channels);
  return config;
}

Config read_config(const JsonFields& json) {
  Config config = read_shared(json);
  if (json.has("upsample_block_type"))
    config.upsamples = one_of(json["upsample_block_type"], "interpolate", true, "pixel_shuffle", false);
  if (json.has("decoder_in_shortcut")) config.in_shortcut = json["decoder_in_shortcut"].boolean();
  if (json.has("decoder_conv_act_fn")) config.out_activation = parse_activation(json["decoder_conv_act_fn"]);
  config.stages = read_stages(json, kDecoder);
  check_widths(json, config);
  return config;
}

/// Checks that shortcuts can average the channels of the encoder's stages.
void check_encoder_widths(const JsonFields& json, const Config& config) {
  const std::vector<Stage>& stages = config.stages;
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    if (stages[i].layers > 0 && 4 * stages[i].width % stages[i + 1].width != 0)
      json.fail("encoder_block_out_channels[" + std::to_string(i) + "]: four times " +
                std::to_string(stages[i].width) + " channels cannot be averaged to " +
                std::to_string(stages[i + 1].width));
    if (stages[i].layers == 0 && i > 0)
      json.fail("encoder_layers_per_block[" + std::to_string(i) + "]: expected blocks, found 0");
  }
  for (size_t i = 1; i < stages.size() && !config.upsamples; ++i) {
    if (stages[i].width % 4 != 0)
      json.fail("encoder_block_out_channels[" + std::to_string(i) + "]: expected a multiple of 4, found " +
                std::to_string(stages[i].width));
  }
  if (stages[0].layers == 0 && stages.size() < 2)
    json.fail("encoder_layers_per_block[0]: expected blocks, found 0");
  if (config.in_shortcut && stages.back().width % config.latent_channels != 0)
    json.fail("encoder_block_out_channels: expected the last to be a multiple of latent_channels = " +
              std::to_string(config.latent_channels));
}

/// The encoder's part of a config. `upsamples` then means that downsamplings are strided convolutions, and
/// `in_shortcut` that a shortcut leads to the output.
Config read_encoder(const JsonFields& json) {
  Config config = read_shared(json);
  // diffusers takes every value but pixel_unshuffle as a strided convolution.
  config.upsamples =
      json.has("downsample_block_type") && json["downsample_block_type"].text() != "pixel_unshuffle";
  if (json.has("encoder_out_shortcut")) config.in_shortcut = json["encoder_out_shortcut"].boolean();
  config.stages = read_stages(json, kEncoder);
  check_encoder_widths(json, config);
  return config;
}

/// Adds the blocks of the decoder or the encoder to a graph. Shapes are N×C×1×H×W.
class Builder {
 public:
  Builder(const Config& config, Graph& graph) : config_(config), graph_(graph) {}

  void decoder() {
    const std::vector<Stage>& stages = config_.stages;
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = first_conv("decoder.conv_in", x, stages.back().width);
    for (size_t i = stages.size(); i-- > 0;) {
      const std::string name = "decoder.up_blocks." + std::to_string(i) + ".";
      const Stage& stage = stages[i];
      int64_t number = 0;
      if (i + 1 < stages.size() && stage.layers > 0) {
        x = upsample(name + std::to_string(number++), x, stage.width, true);
        if (stage.block == Block::residual) graph_.add_cut_point(x);
      }
      x = blocks(name, number, x, stage);
    }
    x = graph_.rms_norm("decoder.norm_out", x, kNormEpsilon, config_.out_activation);
    graph_.set_output(stages[0].layers > 0
                          ? graph_.conv("decoder.conv_out", x, config_.picture_channels, {1, 3, 3})
                          : upsample("decoder.conv_out", x, config_.picture_channels, false));
  }

  void encoder() {
    const std::vector<Stage>& stages = config_.stages;
    const auto side = int32_t{1} << (stages.size() - 1);
    TensorId x = graph_.add_picture(config_.picture_channels, {1, side, side});
    const bool starts_finer = stages[0].layers == 0;
    x = starts_finer ? downsample("encoder.conv_in", x, stages[1].width, false)
                     : graph_.conv("encoder.conv_in", x, stages[0].width, {1, 3, 3});
    for (size_t i = starts_finer ? 1 : 0; i < stages.size(); ++i) {
      const std::string name = "encoder.down_blocks." + std::to_string(i) + ".";
      x = blocks(name, 0, x, stages[i]);
      if (i + 1 == stages.size()) continue;
      x = downsample(name + std::to_string(stages[i].layers), x, stages[i + 1].width, true);
      if (stages[i].block == Block::residual) graph_.add_cut_point(x);
    }
    const TensorId h = graph_.conv("encoder.conv_out", x, config_.latent_channels, {1, 3, 3});
    graph_.set_output(config_.in_shortcut ? graph_.add("encoder.sum", h, mean("encoder.shortcut", x)) : h);
  }

 private:
  TensorId mean(const std::string& name, TensorId x) {
    return graph_.space_to_depth(name, x, config_.latent_channels, {1, 1, 1});
  }

  TensorId blocks(const std::string& name, int64_t number, TensorId x, const Stage& stage) {
    for (int64_t layer = 0; layer < stage.layers; ++layer) {
      const std::string block = name + std::to_string(number + layer);
      if (stage.block == Block::residual) {
        x = residual_block(block, x, stage);
        graph_.add_cut_point(x);
      } else {
        x = gated_block(block + ".conv_out", attention(block + ".attn", x, stage));
      }
    }
    return x;
  }

  TensorId downsample(const std::string& name, TensorId x, int64_t channels, bool shortcut) {
    const Axes<int32_t> halves{1, 2, 2};
    TensorId h = config_.upsamples
                     ? graph_.strided_conv(name + ".conv", x, channels, {1, 3, 3}, halves)
                     : graph_.space_to_depth(name + ".shuffle",
                                             graph_.conv(name + ".conv", x, channels / 4, {1, 3, 3}),
                                             channels, halves);
    if (!shortcut) return h;
    return graph_.add(name, h, graph_.space_to_depth(name + ".shortcut", x, channels, halves));
  }

  /// The latent is added separately and not folded into the kernel. In 16 bits, taps near 1 would lose too
  /// much precision.
  TensorId first_conv(const std::string& name, TensorId latent, int64_t channels) {
    const TensorId h = graph_.conv(name, latent, channels, {1, 3, 3});
    if (!config_.in_shortcut) return h;
    return graph_.add(name + ".sum", h,
                      graph_.repeated_depth_to_space(name + ".shortcut", latent, channels, {1, 1, 1}, 1));
  }

  struct Kernel {
    Axes<int32_t> extent;
    bool linear = false;  ///< as in ConvolutionTraits
  };
  /// A convolution without bias, followed by a norm.
  TensorId normalised_conv(const std::string& name, const std::string& norm_name, TensorId x,
                           int64_t channels, const Kernel& kernel, Norm norm) {
    ConvolutionTraits traits{.bias = false, .linear = kernel.linear};
    if (norm == Norm::batch) traits.batch_norm = norm_name;
    const TensorId h = graph_.conv(name, x, channels, kernel.extent, traits);
    if (norm == Norm::batch) return h;
    return graph_.rms_norm(norm_name, h, kNormEpsilon, Activation::none);
  }

  TensorId residual_block(const std::string& name, TensorId x, const Stage& stage) {
    const TensorId h =
        graph_.conv(name + ".conv1", x, stage.width, {1, 3, 3}, {.activation = stage.activation});
    return graph_.add(
        name, normalised_conv(name + ".conv2", name + ".norm", h, stage.width, {{1, 3, 3}}, stage.norm), x);
  }

  /// Linear attention over queries, keys and values, and over their multi-scale aggregates from depthwise
  /// convolutions.
  TensorId attention(const std::string& name, TensorId x, const Stage& stage) {
    const int64_t heads = stage.width / config_.head_channels;
    const int64_t channels = 3 * heads * config_.head_channels;
    const auto group_count = [](int64_t groups) { return static_cast<int32_t>(groups); };
    std::vector<TensorId> inputs{graph_.conv(
        name + ".to_qkv", x, channels, {1, 1, 1},
        {.bias = false, .stacked = {name + ".to_q", name + ".to_k", name + ".to_v"}, .linear = true})};
    for (size_t i = 0; i < stage.scales.size(); ++i) {
      const std::string scale = name + ".to_qkv_multiscale." + std::to_string(i);
      const TensorId gathered =
          graph_.conv(scale + ".proj_in", inputs[0], channels, {1, stage.scales[i], stage.scales[i]},
                      {.bias = false, .groups = group_count(channels)});
      inputs.push_back(graph_.conv(scale + ".proj_out", gathered, channels, {1, 1, 1},
                                   {.bias = false, .groups = group_count(3 * heads)}));
    }
    const TensorId sums = graph_.key_value_sums(name + ".sums", inputs, config_.head_channels);
    const TensorId mixed = graph_.linear_attention(name + ".attention", inputs, sums, kAttentionEpsilon);
    return graph_.add(name,
                      normalised_conv(name + ".to_out", name + ".norm_out", mixed, stage.width,
                                      {{1, 1, 1}, true}, stage.norm),
                      x);
  }

  TensorId gated_block(const std::string& name, TensorId x) {
    const int64_t width = graph_.tensor(x).channels;
    const int64_t channels = 2 * kExpansion * width;
    TensorId h =
        graph_.conv(name + ".conv_inverted", x, channels, {1, 1, 1}, {.activation = Activation::silu});
    h = graph_.conv(name + ".conv_depth", h, channels, {1, 3, 3}, {.groups = static_cast<int32_t>(channels)});
    h = graph_.gate(name + ".gate", h);
    return graph_.add(
        name, normalised_conv(name + ".conv_point", name + ".norm", h, width, {{1, 1, 1}}, Norm::rms), x);
  }

  TensorId upsample(const std::string& name, TensorId x, int64_t channels, bool shortcut) {
    if (config_.upsamples) return graph_.upsampled_conv(name + ".conv", x, channels, {.shortcut = shortcut});
    x = graph_.conv(name + ".conv", x, 4 * channels, {1, 3, 3}, {.shortcut = shortcut});
    return graph_.depth_to_space(name + ".shuffle", x, {1, 2, 2});
  }

  const Config& config_;
  Graph& graph_;
};

Graph encoder(const JsonFields& json) {
  Graph graph;
  const Config config = read_encoder(json);
  Builder(config, graph).encoder();
  return graph;
}

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, 1);
  return model;
}

}  // namespace

// diffusers 0.42.1: models/autoencoders/autoencoder_dc.py, with SanaMultiscaleLinearAttention of
// models/attention_processor.py and GLUMBConv of models/transformers/sana_transformer.py.
std::vector<Family> autoencoder_dc_families() {
  return {
      {.class_name = "AutoencoderDC",
       .source_file = "autoencoder_dc.py",
       .eager_network = EagerNetwork::dc,
       .built_ins =
           {{"sana-dc-ae-f32c32",
             R"({"_class_name": "AutoencoderDC", "in_channels": 3, "latent_channels": 32, "attention_head_dim": 32,
           "decoder_block_types": ["ResBlock", "ResBlock", "ResBlock",
                                   "EfficientViTBlock", "EfficientViTBlock", "EfficientViTBlock"],
           "decoder_block_out_channels": [128, 256, 512, 512, 1024, 1024],
           "decoder_layers_per_block": [3, 3, 3, 3, 3, 3],
           "decoder_qkv_multiscales": [[], [], [], [5], [5], [5]],
           "decoder_norm_types": "rms_norm", "decoder_act_fns": "silu", "upsample_block_type": "interpolate", "downsample_block_type": "conv",
           "encoder_block_types": ["ResBlock", "ResBlock", "ResBlock",
                                   "EfficientViTBlock", "EfficientViTBlock", "EfficientViTBlock"],
           "encoder_block_out_channels": [128, 256, 512, 512, 1024, 1024],
           "encoder_layers_per_block": [2, 2, 2, 3, 3, 3],
           "encoder_qkv_multiscales": [[], [], [], [5], [5], [5]],
           "scaling_factor": 0.41407})"}},
       .build = build,
       .encoder = encoder}};
}

}  // namespace headroom
