#include "decoder/families/families.h"

#include "decoder/families/activation.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostBlocks = 64;
constexpr int64_t kMostFactor = 8;
constexpr size_t kMostStages = 8;

/// Config with diffusers' defaults.
struct Config {
  int64_t latent_channels = 4;
  int64_t out_channels = 3;
  int64_t width = 64;
  std::vector<int64_t> blocks{3, 3, 3, 1};  ///< of each resolution, from the coarsest
  Activation activation = Activation::relu;
  int32_t factor = 2;  ///< upsampling factor between resolutions
};

/// Reads the width. All resolutions must have the same width, since upsampling convolutions keep their
/// channels.
int64_t read_width(const JsonFields& widths, size_t stages) {
  if (widths.size(kMostStages) != stages)
    widths.fail("expected as many as num_decoder_blocks has, " + std::to_string(stages) + ", found " +
                std::to_string(widths.size(kMostStages)));
  const int64_t width = widths[0].integer(1, kMostChannels);
  for (size_t i = 1; i < stages; ++i) {
    if (widths[i].integer(1, kMostChannels) != width)
      widths[i].fail("expected the width of all resolutions, " + std::to_string(width) + ", found " +
                     std::to_string(widths[i].integer(1, kMostChannels)));
  }
  return width;
}

Config read_config(const JsonFields& json) {
  Config config;
  const auto integer = [&](const char* key, int64_t most, int64_t otherwise) {
    return json.has(key) ? json[key].integer(1, most) : otherwise;
  };
  config.latent_channels = integer("latent_channels", 1024, config.latent_channels);
  config.out_channels = integer("out_channels", 1024, config.out_channels);
  config.factor = static_cast<int32_t>(integer("upsampling_scaling_factor", kMostFactor, config.factor));
  if (json.has("num_decoder_blocks")) {
    const JsonFields counts = json["num_decoder_blocks"];
    config.blocks.clear();
    for (size_t i = 0; i < counts.size(kMostStages); ++i)
      config.blocks.push_back(counts[i].integer(0, kMostBlocks));
    if (config.blocks.empty()) counts.fail("expected at least one number");
  }
  if (json.has("decoder_block_out_channels")) {
    config.width = read_width(json["decoder_block_out_channels"], config.blocks.size());
  } else if (config.blocks.size() != Config{}.blocks.size()) {
    static_cast<void>(json["decoder_block_out_channels"]);  // the default has another length
  }
  if (json.has("act_fn")) config.activation = parse_activation(json["act_fn"]);
  if (json.has("upsample_fn") && json["upsample_fn"].text() != "nearest")
    json["upsample_fn"].fail("'" + json["upsample_fn"].text() + "' is not supported; expected nearest");
  return config;
}

/// Adds the decoder's layers to a graph, numbered as in its torch.nn.Sequential. There is no barrier: every
/// layer is a cut point.
class Builder {
 public:
  Builder(const Config& config, Graph& graph) : config_(config), graph_(graph) {}

  void decoder() {
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = graph_.activate("decoder.clamp", x, Activation::soft_clamp);
    x = graph_.add_cut_point(
        graph_.conv(next_layer(), x, config_.width, {1, 3, 3}, {.activation = config_.activation}));
    next_layer();  // the activation
    for (size_t stage = 0; stage + 1 < config_.blocks.size(); ++stage) {
      x = blocks(x, config_.blocks[stage]);
      next_layer();  // the upsampling
      x = graph_.add_cut_point(upsampled_conv(next_layer(), x));
    }
    x = blocks(x, config_.blocks.back());
    // This decoder's pictures are 0 … 1. diffusers maps them to -1 … 1.
    graph_.set_output(
        graph_.conv(next_layer(), x, config_.out_channels, {1, 3, 3}, {.scale = 2, .shift = -1}));
  }

 private:
  std::string next_layer() { return "decoder.layers." + std::to_string(layer_++); }

  TensorId blocks(TensorId x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x = graph_.add_cut_point(block(next_layer(), x));
    return x;
  }

  TensorId block(const std::string& name, TensorId x) {
    const ConvolutionTraits activated{.activation = config_.activation};
    TensorId h = graph_.conv(name + ".conv.0", x, config_.width, {1, 3, 3}, activated);
    h = graph_.conv(name + ".conv.2", h, config_.width, {1, 3, 3}, activated);
    h = graph_.conv(name + ".conv.4", h, config_.width, {1, 3, 3});
    return graph_.add(name, h, x, Activation::relu);
  }

  TensorId upsampled_conv(const std::string& name, TensorId x) {
    if (config_.factor == 2) return graph_.upsampled_conv(name, x, config_.width, {.bias = false});
    x = graph_.upsample(name + ".upsample", x, {1, config_.factor, config_.factor});
    return graph_.conv(name, x, config_.width, {1, 3, 3}, {.bias = false});
  }

  const Config& config_;
  Graph& graph_;
  int64_t layer_ = 0;
};

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, 1);
  model.shift_factor = shift_factor(json, 0);
  return model;
}

/// The modules are a sequence that begins with the clamp.
std::vector<Renaming> renamings(const CheckpointNames&) {
  return {{"decoder.layers.#.", "{a+1}."}};
}

}  // namespace

// diffusers 0.42.1: models/autoencoders/autoencoder_tiny.py, with DecoderTiny of vae.py and
// AutoencoderTinyBlock of models/unets/unet_2d_blocks.py.
std::vector<Family> autoencoder_tiny_families() {
  const std::string tiny =
      R"({"_class_name": "AutoencoderTiny", "decoder_block_out_channels": [64, 64, 64, 64],
         "num_decoder_blocks": [3, 3, 3, 1], "act_fn": "relu", "out_channels": 3, "upsampling_scaling_factor": 2,
         "scaling_factor": 1.0, "shift_factor": 0.0, )";
  return {{.class_name = "AutoencoderTiny",
           .source_file = "autoencoder_tiny.py",
           .takes_scaled_latents = true,
           .original_names = {.key = "tiny",
                              .decoder_mark = "3.conv.0.weight",
                              .beside = "1.weight",  // the encoder has none
                              .renamings = renamings},
           .built_ins = {{"taesd", tiny + R"("latent_channels": 4})"},
                         {"taef1", tiny + R"("latent_channels": 16})"}},
           .build = build}};
}

}  // namespace headroom
