#include "decoder/families/families.h"

#include "decoder/families/activation.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostBlocks = 64;
constexpr int64_t kMostFactor = 8;
constexpr size_t kMostStages = 8;
constexpr int64_t kMiniMaxChannels = 24;

/// Config with diffusers' defaults.
struct Config {
  int64_t latent_channels = 4;
  int64_t picture_channels = 3;
  int64_t width = 64;
  /// Number of blocks of each resolution, in the order of the computation: the decoder begins with the
  /// coarsest.
  std::vector<int64_t> blocks{3, 3, 3, 1};
  Activation activation = Activation::relu;
  int32_t factor = 2;  ///< upsampling factor between resolutions
  bool pools = false;  ///< blocks of the coarsest resolution begin with a GroupNorm, as TAEF2's do
};

/// Config keys that differ between the decoder and the encoder.
struct Keys {
  const char* picture_channels = "out_channels";
  const char* blocks = "num_decoder_blocks";
  const char* widths = "decoder_block_out_channels";
};
constexpr Keys kEncoderKeys{"in_channels", "num_encoder_blocks", "encoder_block_out_channels"};

/// Reads the width. All resolutions must have the same width, since resampling convolutions keep their
/// channels.
int64_t read_width(const JsonFields& widths, size_t stages, const char* blocks) {
  if (widths.size(kMostStages) != stages)
    widths.fail("expected as many as " + std::string(blocks) + " has, " + std::to_string(stages) +
                ", found " + std::to_string(widths.size(kMostStages)));
  const int64_t width = widths[0].integer(1, kMostChannels);
  for (size_t i = 1; i < stages; ++i) {
    if (widths[i].integer(1, kMostChannels) != width)
      widths[i].fail("expected the width of all resolutions, " + std::to_string(width) + ", found " +
                     std::to_string(widths[i].integer(1, kMostChannels)));
  }
  return width;
}

/// `config` has the defaults of missing keys.
Config read_config(const JsonFields& json, Config config = {}, const Keys& keys = {}) {
  const size_t default_stages = config.blocks.size();
  config.latent_channels = json.integer_or("latent_channels", 1, 1024, config.latent_channels);
  config.picture_channels = json.integer_or(keys.picture_channels, 1, 1024, config.picture_channels);
  config.factor =
      static_cast<int32_t>(json.integer_or("upsampling_scaling_factor", 1, kMostFactor, config.factor));
  if (json.has(keys.blocks)) {
    const JsonFields counts = json[keys.blocks];
    config.blocks.clear();
    for (size_t i = 0; i < counts.size(kMostStages); ++i)
      config.blocks.push_back(counts[i].integer(0, kMostBlocks));
    if (config.blocks.empty()) counts.fail("expected at least one number");
  }
  if (json.has(keys.widths)) {
    config.width = read_width(json[keys.widths], config.blocks.size(), keys.blocks);
  } else if (config.blocks.size() != default_stages) {
    static_cast<void>(json[keys.widths]);  // the default has another length
  }
  if (json.has("act_fn")) config.activation = parse_activation(json["act_fn"]);
  if (json.has("use_midblock_gn")) config.pools = json["use_midblock_gn"].boolean();
  if (json.has("upsample_fn") && json["upsample_fn"].text() != "nearest")
    json["upsample_fn"].fail("'" + json["upsample_fn"].text() + "' is not supported; expected nearest");
  return config;
}

/// Adds the layers of the decoder or the encoder to a graph, numbered as in its torch.nn.Sequential. Only
/// `pools` makes barriers: every layer is a cut point.
class Builder {
 public:
  Builder(const Config& config, Graph& graph) : config_(config), graph_(graph) {}

  /// The encoder reads pictures of 0 … 1. diffusers maps those of -1 … 1 to it, before the first convolution
  /// pads with zeros.
  void encoder() {
    side_ = "encoder";
    const auto scale = int32_t{1} << (config_.blocks.size() - 1);
    TensorId x = graph_.add_picture(config_.picture_channels, {1, scale, scale});
    x = graph_.activate("encoder.to_unit", x, Activation::to_unit);
    for (size_t stage = 0; stage < config_.blocks.size(); ++stage) {
      x = stage == 0
              ? graph_.conv(next_layer(), x, config_.width, {1, 3, 3})
              : graph_.strided_conv(next_layer(), x, config_.width, {1, 3, 3}, {1, 2, 2}, {.bias = false});
      const bool coarsest = stage + 1 == config_.blocks.size();
      x = blocks(graph_.add_cut_point(x), config_.blocks[stage], coarsest && config_.pools);
    }
    graph_.set_output(graph_.conv(next_layer(), x, config_.latent_channels, {1, 3, 3}));
  }

  void decoder() {
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = graph_.activate("decoder.clamp", x, Activation::soft_clamp);
    x = graph_.add_cut_point(
        graph_.conv(next_layer(), x, config_.width, {1, 3, 3}, {.activation = config_.activation}));
    next_layer();  // the activation
    for (size_t stage = 0; stage + 1 < config_.blocks.size(); ++stage) {
      x = blocks(x, config_.blocks[stage], stage == 0 && config_.pools);
      next_layer();  // the upsampling
      x = graph_.add_cut_point(upsampled_conv(next_layer(), x));
    }
    x = blocks(x, config_.blocks.back(), config_.blocks.size() == 1 && config_.pools);
    // This decoder's pictures are 0 … 1. diffusers maps them to -1 … 1.
    graph_.set_output(
        graph_.conv(next_layer(), x, config_.picture_channels, {1, 3, 3}, {.scale = 2, .shift = -1}));
  }

 private:
  std::string next_layer() { return side_ + ".layers." + std::to_string(layer_++); }

  TensorId blocks(TensorId x, int64_t count, bool pool) {
    for (int64_t i = 0; i < count; ++i) {
      const std::string name = next_layer();
      x = graph_.add_cut_point(block(name, pool ? pooled(name + ".pool", x) : x));
    }
    return x;
  }

  /// Adds what a GroupNorm over the whole picture makes of x.
  TensorId pooled(const std::string& name, TensorId x) {
    constexpr int32_t kGroups = 4, kWidening = 4;
    constexpr double kEpsilon = 1e-5;
    TensorId h = graph_.conv(name + ".0", x, kWidening * config_.width, {1, 1, 1}, {.bias = false});
    const TensorId statistics = graph_.statistics(name + ".1.statistics", h, kGroups, kEpsilon);
    h = graph_.norm(name + ".1", h, statistics, Activation::relu);
    h = graph_.conv(name + ".3", h, config_.width, {1, 1, 1}, {.bias = false});
    return graph_.add_cut_point(graph_.add(name, h, x));
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
  std::string side_ = "decoder";
  int64_t layer_ = 0;
};

/// TAEHV's config. Its keys are the arguments of the published class. `decoder_block_out_channels` and
/// `num_decoder_blocks` are AutoencoderTiny's, for decoders of other sizes.
struct ClipConfig {
  int64_t latent_channels = 16;
  int64_t out_channels = 3;
  int64_t patch = 1;
  std::vector<int64_t> widths{256, 128, 64, 64};  ///< of each resolution, then of the last two convolutions
  std::vector<int64_t> blocks{3, 3, 3};
  std::vector<bool> doubles_frames{false, true, true}, doubles_pixels{true, true, true};
  bool keeps_frames_of_even =
      false;  ///< the class drops no frames of clips of an even number of latent frames
};

ClipConfig read_clip_config(const JsonFields& json) {
  ClipConfig config;
  const auto read = [&](const char* key, auto& values, size_t count, const auto& value_of) {
    if (json.has(key)) {
      const JsonFields list = json[key];
      values.clear();
      for (size_t i = 0; i < list.size(kMostStages + 1); ++i) values.push_back(value_of(list[i]));
    }
    if (values.size() != count)
      json.fail(std::string(key) + ": expected " + std::to_string(count) + " values, found " +
                std::to_string(values.size()));
  };
  const auto boolean = [](const JsonFields& field) { return field.boolean(); };
  config.latent_channels = json.integer_or("latent_channels", 1, 1024, config.latent_channels);
  config.out_channels = json.integer_or("out_channels", 1, 1024, config.out_channels);
  config.patch = json.integer_or("patch_size", 1, kMostFactor, config.patch);
  const size_t stages = json.has("num_decoder_blocks") ? json["num_decoder_blocks"].size(kMostStages) : 3;
  if (stages == 0) json["num_decoder_blocks"].fail("expected at least one number");
  read("num_decoder_blocks", config.blocks, stages,
       [](const JsonFields& field) { return field.integer(0, kMostBlocks); });
  read("decoder_block_out_channels", config.widths, stages + 1,
       [](const JsonFields& field) { return field.integer(1, kMostChannels); });
  read("decoder_time_upscale", config.doubles_frames, stages, boolean);
  read("decoder_space_upscale", config.doubles_pixels, stages, boolean);
  if (json.has("is_cogvideox")) config.keeps_frames_of_even = json["is_cogvideox"].boolean();
  if (json.has("arch_variant") && !json["arch_variant"].is_null())
    json["arch_variant"].fail("'" + json["arch_variant"].text() + "' is not supported; expected null");
  if (config.latent_channels == kMiniMaxChannels && config.patch > 1)
    json["latent_channels"].fail(
        "24 channels are MiniMax-H3's, which joins clips of five latent frames; not supported");
  return config;
}

/// Adds TAEHV's decoder to a graph, numbered as in its torch.nn.Sequential.
///
/// Doubling the frames of T latent frames n times makes 2ⁿ T frames, and the decoder drops the first 2ⁿ - 1.
/// Memory blocks read the dropped frames too. So up to the last doubling each position of a latent frame
/// holds all frames that come of it, as channels (FramesInChannels). Then
/// depth_to_frames() makes frames of these channels, and keeps only the last one of the first latent frame.
class ClipBuilder {
 public:
  ClipBuilder(const ClipConfig& config, Graph& graph) : config_(config), graph_(graph) {}

  void decoder() {
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = graph_.activate(next_layer(), x, Activation::soft_clamp);
    x = graph_.conv(next_layer(), x, config_.widths[0], {1, 3, 3}, {.activation = Activation::relu});
    x = graph_.add_cut_point(x);
    next_layer();  // the activation
    for (size_t stage = 0; stage < config_.blocks.size(); ++stage) {
      for (int64_t i = 0; i < config_.blocks[stage]; ++i)
        x = graph_.add_cut_point(block(next_layer(), x, config_.widths[stage]));
      x = graph_.add_cut_point(upsampled(x, stage));
    }
    next_layer();  // the activation
    const auto side = static_cast<int32_t>(config_.patch);
    // Pictures are 0 … 1. A GPU adds a picture's shift after the activation, so the clamp stands apart.
    x = graph_.conv(next_layer(), x, config_.out_channels * side * side, {1, 3, 3},
                    {.scale = 2, .shift = -1});
    if (side > 1) x = graph_.depth_to_space("unpatchify", x, {1, side, side});
    graph_.set_output(graph_.activate("clamp", x, Activation::clamp));
  }

 private:
  std::string next_layer() { return "decoder." + std::to_string(layer_++); }

  TensorId block(const std::string& name, TensorId x, int64_t width) {
    ConvolutionTraits traits{.activation = Activation::relu,
                             .frames = {.inputs = frames_, .outputs = frames_}};
    ConvolutionTraits with_past = traits;
    with_past.stacks_past = true;
    const int64_t channels = width * frames_;
    TensorId h = graph_.conv(name + ".conv.0", x, channels, {2, 3, 3}, with_past);
    h = graph_.conv(name + ".conv.2", h, channels, {1, 3, 3}, traits);
    traits.activation = Activation::none;
    h = graph_.conv(name + ".conv.4", h, channels, {1, 3, 3}, traits);
    return graph_.add(name, h, x, Activation::relu);
  }

  /// The published class upsamples rows and columns first. The order of nearest upsampling and a 1×1
  /// convolution makes no difference.
  TensorId upsampled(TensorId x, size_t stage) {
    next_layer();  // the upsampling of rows and columns
    const std::string grow = next_layer(), name = next_layer();
    const int32_t growth = config_.doubles_frames[stage] ? 2 : 1;
    x = graph_.conv(
        grow + ".conv", x, config_.widths[stage] * frames_ * growth, {1, 1, 1},
        {.bias = false, .frames = {.inputs = frames_, .outputs = frames_ * growth, .made = growth}});
    frames_ *= growth;
    const bool last = stage + 1 == config_.blocks.size();
    if (last && frames_ > 1) {
      x = graph_.depth_to_frames(grow, x, {frames_, 1, 1});
      frames_ = 1;
    }
    const ConvolutionTraits traits{.bias = false,
                                   .activation = last ? Activation::relu : Activation::none,
                                   .frames = {.inputs = frames_, .outputs = frames_}};
    const int64_t channels = config_.widths[stage + 1] * frames_;
    return config_.doubles_pixels[stage] ? graph_.upsampled_conv(name, x, channels, traits)
                                         : graph_.conv(name, x, channels, {1, 3, 3}, traits);
  }

  const ClipConfig& config_;
  Graph& graph_;
  int64_t layer_ = 0;
  int32_t frames_ = 1;  ///< in the channels
};

Model build_clips(const JsonFields& json) {
  const ClipConfig config = read_clip_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  if (config.keeps_frames_of_even) model.latent_frame_step = 2;
  ClipBuilder(config, model.graph).decoder();
  return model;
}

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, 1);
  model.shift_factor = shift_factor(json, 0);
  return model;
}

Graph encoder(const JsonFields& json) {
  const Config config = read_config(json, {.blocks = {1, 3, 3, 3}}, kEncoderKeys);
  Graph graph;
  Builder(config, graph).encoder();
  return graph;
}

constexpr const char* kOfEncoder = "1.conv.0.weight";

/// The modules are two sequences. The decoder's begins with the clamp.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  if (stored.contains(kOfEncoder)) return {{"encoder.layers.#.", "{a}."}};
  return {{"decoder.layers.#.", "{a+1}."}, {"encoder.layers.#.", "{a}."}};
}

}  // namespace

// diffusers 0.42.1: models/autoencoders/autoencoder_tiny.py, with DecoderTiny of vae.py and
// AutoencoderTinyBlock of models/unets/unet_2d_blocks.py. TAEF2: madebyollin/taesd, taesd.py. TAEHV:
// madebyollin/taehv, taehv.py.
std::vector<Family> autoencoder_tiny_families() {
  const std::string tiny =
      R"({"_class_name": "AutoencoderTiny", "decoder_block_out_channels": [64, 64, 64, 64],
         "num_decoder_blocks": [3, 3, 3, 1], "act_fn": "relu", "out_channels": 3, "upsampling_scaling_factor": 2,
         "scaling_factor": 1.0, "shift_factor": 0.0, )";
  const std::string clips = R"({"_class_name": "TAEHV", )";
  return {{.class_name = "AutoencoderTiny",
           .source_file = "autoencoder_tiny.py",
           .takes_scaled_latents = true,
           .original_names = {.key = "tiny",
                              .decoder_mark = "3.conv.0.weight",
                              .encoder_mark = kOfEncoder,
                              .beside = "1.weight",  // the encoder has none
                              .renamings = renamings},
           .built_ins = {{"taesd", tiny + R"("latent_channels": 4})"},
                         {"taef1", tiny + R"("latent_channels": 16})"},
                         {"taef2", tiny + R"("latent_channels": 32, "use_midblock_gn": true})"}},
           .build = build,
           .encoder = encoder},
          {.class_name = "TAEHV",
           .source_file = "taehv.py",
           .in_diffusers = false,
           .takes_scaled_latents = true,
           .original_names = {.key = "taehv", .decoder_mark = "decoder.7.conv.weight", .first = true},
           .built_ins = {{"taew2.1", clips + R"("latent_channels": 16})", {}, {"taehv"}},
                         {"taew2.2", clips + R"("latent_channels": 48, "patch_size": 2})"},
                         {"taehv1.5", clips + R"("latent_channels": 32, "patch_size": 2})"},
                         {"taeltx2", clips + R"("latent_channels": 128, "patch_size": 4,
                                                "decoder_time_upscale": [true, true, true]})"},
                         {"taecvx", clips + R"("latent_channels": 16, "is_cogvideox": true})"}},
           .build = build_clips}};
}

}  // namespace headroom
