#include "decoder/families/families.h"

#include <map>

#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
constexpr int64_t kMostPatch = 8;
constexpr double kRmsEpsilon = 1e-8;

/// One resolution of the decoder, as config.json lists it.
struct Stage {
  int64_t width = 0;   ///< width in the config, before division by `divisor`
  int64_t layers = 0;  ///< residual blocks after its upsampling
  bool upsamples = true;
  Axes<int32_t> factors{2, 2, 2};  ///< of its upsampling
  bool residual = true;            ///< a shortcut bypasses the upsampling's convolution
  int64_t divisor = 1;             ///< divides the upsampling's channels

  int64_t channels() const { return width / divisor; }
};

struct Config {
  int64_t latent_channels = 128;
  int64_t picture_channels = 3;
  std::vector<Stage> stages;  ///< from the coarsest
  int64_t mid_layers = 0;
  int64_t patch = 4;
  double norm_epsilon = 1e-6;
  bool causal = false;
  Edges edges = Edges::zeros;
  bool plain_shortcuts =
      /// 1 × 1 convolutions are direct modules, without a submodule `conv`
      false;
  /// Norms have a scale and a shift, which the model computes from the time step of a decode. For one time
  /// step they are constants, under the names of a norm's parameters.
  bool conditioned = false;
};

/// A class's defaults for missing keys. Lists begin with the finest resolution, as in diffusers. Only
/// `upsampling` begins with the coarsest.
struct Defaults {
  std::vector<int64_t> widths, layers;
  std::vector<bool> upsamples, residual;
  std::vector<int64_t> divisors;
  std::vector<std::string> upsampling;  ///< empty: all upsample space and time
  bool causal = false;
  bool picks_edges = false;  ///< the class has the config key for the padding mode
};

const Defaults& ltx2_defaults() {
  static const Defaults defaults{.widths = {256, 512, 1024},
                                 .layers = {5, 5, 5, 5},
                                 .upsamples = {true, true, true},
                                 .residual = {true, true, true},
                                 .divisors = {2, 2, 2},
                                 .upsampling = {"spatiotemporal", "spatiotemporal", "spatiotemporal"},
                                 .causal = true,
                                 .picks_edges = true};
  return defaults;
}

const Defaults& ltx_defaults() {
  static const Defaults defaults{.widths = {128, 256, 512, 512},
                                 .layers = {4, 3, 3, 3, 4},
                                 .upsamples = {true, true, true, false},
                                 .residual = {false, false, false, false},
                                 .divisors = {1, 1, 1, 1},
                                 .upsampling = {}};
  return defaults;
}

/// Reads a list with `read(field)` for each element. Returns the default if the key is missing.
template <typename T, typename F>
std::vector<T> list_of(const JsonFields& json, const char* key, const std::vector<T>& otherwise,
                       const F& read) {
  if (!json.has(key)) return otherwise;
  const JsonFields field = json[key];
  std::vector<T> values;
  for (size_t i = 0; i < field.size(kMostStages + 1); ++i) values.push_back(read(field[i]));
  return values;
}

template <typename T>
void check_count(const JsonFields& json, const char* key, const std::vector<T>& values, size_t count) {
  if (values.size() != count)
    json.fail(std::string(key) + ": expected " + std::to_string(count) + " of them, found " +
              std::to_string(values.size()));
}

/// Reads a list of booleans, or one boolean for all.
std::vector<bool> truths(const JsonFields& json, const char* key, const std::vector<bool>& otherwise,
                         size_t count) {
  if (json.has(key) && !json[key].is_array()) return std::vector<bool>(count, json[key].boolean());
  return list_of(json, key, otherwise, [](const JsonFields& field) { return field.boolean(); });
}

Axes<int32_t> factors_of(const JsonFields& json, const char* key, const std::string& kind) {
  if (kind == "spatial") return {1, 2, 2};
  if (kind == "temporal") return {2, 1, 1};
  if (kind == "spatiotemporal") return {2, 2, 2};
  json.fail(std::string(key) + ": expected spatial, temporal or spatiotemporal, found '" + kind + "'");
}

void read_stages(const JsonFields& json, const Defaults& defaults, Config& config) {
  const auto integers = [&](const char* key, int64_t least, int64_t most,
                            const std::vector<int64_t>& otherwise) {
    return list_of(json, key, otherwise, [&](const JsonFields& field) { return field.integer(least, most); });
  };
  const auto widths = integers("decoder_block_out_channels", 1, kMostChannels, defaults.widths);
  const size_t count = widths.size();
  if (count == 0) json.fail("decoder_block_out_channels: expected at least one width");
  const auto layers = integers("decoder_layers_per_block", 0, kMostLayers, defaults.layers);
  check_count(json, "decoder_layers_per_block", layers, count + 1);
  const auto upsamples = truths(json, "decoder_spatio_temporal_scaling", defaults.upsamples, count);
  check_count(json, "decoder_spatio_temporal_scaling", upsamples, count);
  const auto residual = truths(json, "upsample_residual", defaults.residual, count);
  check_count(json, "upsample_residual", residual, count);
  const auto divisors = integers("upsample_factor", 1, kMostChannels, defaults.divisors);
  check_count(json, "upsample_factor", divisors, count);
  std::vector<std::string> upsampling(count, "spatiotemporal");
  if (!defaults.upsampling.empty()) {
    upsampling = list_of(json, "upsample_type", defaults.upsampling,
                         [](const JsonFields& field) { return field.text(); });
    check_count(json, "upsample_type", upsampling, count);
  }
  config.mid_layers = layers.back();
  for (size_t i = 0; i < count; ++i) {
    const size_t k = count - 1 - i;
    config.stages.push_back({widths[k], layers[k], upsamples[k],
                             factors_of(json, "upsample_type", upsampling[i]), residual[k], divisors[k]});
  }
}

/// Rejects widths that do not fit together. diffusers constructs such modules, but they fail to decode.
void check_widths(const JsonFields& json, const Config& config) {
  int64_t channels = config.stages.front().width;
  for (const Stage& stage : config.stages) {
    const int64_t positions = int64_t{stage.factors.t} * stage.factors.y * stage.factors.x;
    const bool widens = channels / stage.divisor != stage.channels();
    const int64_t asked = stage.channels() * (stage.upsamples ? stage.divisor : 1);
    if (widens ? stage.divisor != 1 : channels != asked)
      json.fail("upsample_factor: " + std::to_string(channels) + " channels cannot become " +
                std::to_string(stage.width) + " / " + std::to_string(stage.divisor));
    if (stage.upsamples && stage.residual &&
        (positions % stage.divisor != 0 || stage.channels() * stage.divisor % positions != 0))
      json.fail("upsample_residual: " + std::to_string(stage.channels() * stage.divisor) +
                " channels cannot become " + std::to_string(positions) + " positions and be repeated");
    channels = stage.channels();
  }
}

/// Rejects decoders that need more input than the latent and a time step.
void refuse_inputs(const JsonFields& json) {
  const std::vector<bool> noise = truths(json, "decoder_inject_noise", {}, 1);
  for (bool injects : noise) {
    if (injects) json["decoder_inject_noise"].fail("decoders that add noise are not supported");
  }
}

Edges edges_of(const JsonFields& field) {
  const std::string mode = field.text();
  for (Edges edges : {Edges::zeros, Edges::reflect, Edges::replicate}) {
    if (mode == name_of(edges)) return edges;
  }
  field.fail("expected zeros, reflect or replicate, found '" + mode + "'");
}

Config read_config(const JsonFields& json, const Defaults& defaults) {
  Config config;
  refuse_inputs(json);
  if (json.has("timestep_conditioning")) config.conditioned = json["timestep_conditioning"].boolean();
  if (config.conditioned && defaults.picks_edges)
    json["timestep_conditioning"].fail("decoders of this class that are given a time step are not supported");
  config.latent_channels = json.integer_or("latent_channels", 1, 1024, config.latent_channels);
  config.picture_channels = json.integer_or("out_channels", 1, 1024, config.picture_channels);
  config.patch = json.integer_or("patch_size", 1, kMostPatch, config.patch);
  if (json.integer_or("patch_size_t", 1, kMostPatch, 1) != 1) json["patch_size_t"].fail("expected 1");
  if (json.has("resnet_norm_eps")) config.norm_epsilon = json["resnet_norm_eps"].amount();
  config.causal = json.has("decoder_causal") ? json["decoder_causal"].boolean() : defaults.causal;
  config.plain_shortcuts = defaults.picks_edges;
  if (defaults.picks_edges) {
    const char* key = "decoder_spatial_padding_mode";
    config.edges = json.has(key) ? edges_of(json[key]) : Edges::reflect;
  }
  read_stages(json, defaults, config);
  check_widths(json, config);
  int64_t channels = config.stages.front().width;
  for (const Stage& stage : config.stages) {
    // diffusers gives such a block the time step itself, with which it cannot compute.
    if (config.conditioned && channels / stage.divisor != stage.channels())
      json.fail("timestep_conditioning: expected one width before and after an upsampling, found " +
                std::to_string(channels / stage.divisor) + " and " + std::to_string(stage.channels()));
    channels = stage.channels();
  }
  return config;
}

/// One resolution of the encoder, from the finest.
struct EncoderStage {
  int64_t layers = 0;  ///< residual blocks before its downsampling
  int64_t width = 0;   ///< channels of its result
  Axes<int32_t> factors{1, 1, 1};
  /// The downsampling is a convolution with a stride. It keeps the channels. A residual block then changes
  /// them.
  bool strided = false;
};

struct EncoderConfig {
  Config common;      ///< its stages stay empty
  int64_t width = 0;  ///< channels of the first convolution
  std::vector<EncoderStage> stages;
};

std::vector<int64_t> integers_of(const JsonFields& json, const char* key, int64_t least, int64_t most,
                                 const std::vector<int64_t>& otherwise) {
  return list_of(json, key, otherwise, [&](const JsonFields& field) { return field.integer(least, most); });
}

/// The keys that the encoders of both classes share.
Config read_common_of_encoder(const JsonFields& json) {
  Config common;
  common.latent_channels = json.integer_or("latent_channels", 1, 1024, common.latent_channels);
  common.picture_channels = json.integer_or("in_channels", 1, 1024, common.picture_channels);
  common.patch = json.integer_or("patch_size", 1, kMostPatch, common.patch);
  if (json.integer_or("patch_size_t", 1, kMostPatch, 1) != 1) json["patch_size_t"].fail("expected 1");
  if (json.has("encoder_causal") && !json["encoder_causal"].boolean())
    json["encoder_causal"].fail("encoders that read later frames are not supported");
  common.causal = true;
  if (json.has("resnet_norm_eps")) common.norm_epsilon = json["resnet_norm_eps"].amount();
  return common;
}

/// Checks that the channels of a stage's squares and frames can be averaged to its width.
void check_means(const JsonFields& json, const EncoderStage& stage, int64_t channels) {
  const int64_t positions = int64_t{stage.factors.t} * stage.factors.y * stage.factors.x;
  if (channels * positions % stage.width != 0 || stage.width % positions != 0)
    json.fail("block_out_channels: " + std::to_string(positions) + " times " + std::to_string(channels) +
              " channels cannot be averaged to " + std::to_string(stage.width));
}

/// LTX-2's encoder.
EncoderConfig read_ltx2_encoder(const JsonFields& json) {
  EncoderConfig config;
  config.common = read_common_of_encoder(json);
  Config& common = config.common;
  common.plain_shortcuts = true;
  if (json.has("encoder_spatial_padding_mode")) common.edges = edges_of(json["encoder_spatial_padding_mode"]);
  const auto widths = integers_of(json, "block_out_channels", 1, kMostChannels, {256, 512, 1024, 2048});
  const auto layers = integers_of(json, "layers_per_block", 0, kMostLayers, {4, 6, 6, 2, 2});
  check_count(json, "layers_per_block", layers, widths.size() + 1);
  const auto downsamples =
      truths(json, "spatio_temporal_scaling", std::vector<bool>(widths.size(), true), widths.size());
  check_count(json, "spatio_temporal_scaling", downsamples, widths.size());
  const auto kinds =
      list_of(json, "downsample_type",
              std::vector<std::string>{"spatial", "temporal", "spatiotemporal", "spatiotemporal"},
              [](const JsonFields& field) { return field.text(); });
  check_count(json, "downsample_type", kinds, widths.size());
  int64_t channels = config.width = common.latent_channels;
  for (size_t i = 0; i < widths.size(); ++i) {
    EncoderStage stage{layers[i], channels};
    if (downsamples[i]) {
      stage.width = widths[i];
      stage.factors = factors_of(json, "downsample_type", kinds[i]);
      check_means(json, stage, channels);
    }
    channels = stage.width;
    config.stages.push_back(stage);
  }
  common.mid_layers = layers.back();
  return config;
}

/// Kinds of blocks in LTX-Video's encoder. The first one downsamples by a convolution with a stride.
constexpr const char *kStridedBlock = "LTXVideoDownBlock3D", *kFoldingBlock = "LTXVideo095DownBlock3D";

/// LTX-Video's encoder. Up to version 0.9.1 its blocks are of the first kind, later of the second. If the
/// last block is of the second kind, `block_out_channels` begins with the width of the first convolution.
EncoderConfig read_ltx_encoder(const JsonFields& json) {
  EncoderConfig config;
  config.common = read_common_of_encoder(json);
  const auto text = [](const JsonFields& field) { return field.text(); };
  const auto widths = integers_of(json, "block_out_channels", 1, kMostChannels, {128, 256, 512, 512});
  const auto blocks = list_of(json, "down_block_types", std::vector<std::string>(4, kStridedBlock), text);
  const size_t behind_first = !blocks.empty() && blocks.back() == kFoldingBlock ? 1 : 0;
  if (widths.size() <= behind_first) json.fail("block_out_channels: expected more widths");
  const size_t count = widths.size() - behind_first;
  check_count(json, "down_block_types", blocks, count);
  const auto layers = integers_of(json, "layers_per_block", 0, kMostLayers, {4, 3, 3, 3, 4});
  check_count(json, "layers_per_block", layers, count + 1);
  const auto downsamples = truths(json, "spatio_temporal_scaling", {true, true, true, false}, count);
  check_count(json, "spatio_temporal_scaling", downsamples, count);
  const auto kinds = list_of(json, "downsample_type", std::vector<std::string>(4, "conv"), text);
  config.width = widths.front();
  for (size_t i = 0; i < count; ++i) {
    const bool folding = blocks[i] == kFoldingBlock;
    if (!folding && blocks[i] != kStridedBlock)
      json["down_block_types"][i].fail("'" + blocks[i] + "' is not supported; expected " + kStridedBlock +
                                       " or " + kFoldingBlock);
    if (folding) check_count(json, "downsample_type", kinds, count);
    EncoderStage stage{layers[i], i + 1 < widths.size() ? widths[i + 1] : widths[i]};
    stage.strided = !folding || kinds[i] == "conv";
    if (downsamples[i])
      stage.factors = stage.strided ? Axes<int32_t>{2, 2, 2} : factors_of(json, "downsample_type", kinds[i]);
    if (downsamples[i] && !stage.strided) check_means(json, stage, widths[i]);
    if (folding && (stage.strided || !downsamples[i]) && stage.width != widths[i])
      json.fail("block_out_channels: " + std::to_string(widths[i]) + " channels cannot become " +
                std::to_string(stage.width) + " in " + blocks[i]);
    config.stages.push_back(stage);
  }
  config.common.mid_layers = layers.back();
  return config;
}

/// Adds the blocks of the decoder or the encoder to a graph. It has no barriers: residual blocks and
/// upsamplings are optional cut points.
class Builder {
 public:
  Builder(const Config& config, Graph& graph) : config_(config), graph_(graph) {}

  void decoder() {
    const int64_t widest = config_.stages.front().width;
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = conv("decoder.conv_in", x, widest);
    x = resnets("decoder.mid_block", x, widest, config_.mid_layers);
    for (size_t i = 0; i < config_.stages.size(); ++i) {
      const Stage& stage = config_.stages[i];
      const std::string name = "decoder.up_blocks." + std::to_string(i);
      const bool widens = graph_.tensor(x).channels / stage.divisor != stage.channels();
      if (widens) x = resnet(name + ".conv_in", x, stage.channels());
      if (stage.upsamples) x = upsample(name + ".upsamplers.0", x, stage);
      x = resnets(name, x, stage.channels(), stage.layers);
    }
    x = norm("decoder.norm_out", x);
    const auto side = static_cast<int32_t>(config_.patch);
    ConvolutionTraits traits = convolutions();
    traits.stored_side = side;
    traits.stored_order = StoredOrder::channel_column_row;
    x = graph_.conv("decoder.conv_out.conv", x, config_.picture_channels * side * side, {3, 3, 3}, traits);
    if (side > 1) x = graph_.depth_to_space("unpatchify", x, {1, side, side});
    graph_.set_output(x);
  }

  /// Makes the mean of each channel, and one log-variance for all channels.
  void encoder(int64_t width, const std::vector<EncoderStage>& stages) {
    const auto side = static_cast<int32_t>(config_.patch);
    Axes<int32_t> scale{1, side, side};
    for (const EncoderStage& stage : stages)
      scale = per_axis([](int32_t a, int32_t b) { return a * b; }, scale, stage.factors);
    TensorId x = graph_.add_picture(config_.picture_channels, scale);
    if (side > 1) {
      x = graph_.space_to_depth("patchify", x, config_.picture_channels * side * side, {1, side, side},
                                {.order = FoldOrder::channel_column_row});
    }
    x = conv("encoder.conv_in", x, width);
    for (size_t i = 0; i < stages.size(); ++i) {
      const std::string name = "encoder.down_blocks." + std::to_string(i);
      x = resnets(name, x, graph_.tensor(x).channels, stages[i].layers);
      if (stages[i].factors != Axes<int32_t>{1, 1, 1}) x = downsample(name + ".downsamplers.0", x, stages[i]);
      if (graph_.tensor(x).channels != stages[i].width) x = resnet(name + ".conv_out", x, stages[i].width);
    }
    x = resnets("encoder.mid_block", x, graph_.tensor(x).channels, config_.mid_layers);
    graph_.set_output(conv("encoder.conv_out", norm("encoder.norm_out", x), config_.latent_channels + 1));
  }

 private:
  /// A convolution with a stride. Or a convolution, then space and time to depth, and a shortcut of means.
  /// The first frame counts twice.
  TensorId downsample(const std::string& name, TensorId x, const EncoderStage& stage) {
    const Axes<int32_t>& factors = stage.factors;
    if (stage.strided) {
      return graph_.add_cut_point(graph_.strided_conv(name + ".conv", x, graph_.tensor(x).channels, {3, 3, 3},
                                                      factors, convolutions()));
    }
    const int64_t positions = int64_t{factors.t} * factors.y * factors.x;
    const auto folded = [&](const char* what, TensorId from) {
      return graph_.space_to_depth(name + what, from, stage.width, factors,
                                   {.frames = factors.t, .first = FoldFirst::twice});
    };
    const TensorId h = conv(name + ".conv", x, stage.width / positions);
    const TensorId made = folded(".space_to_depth", h);
    return graph_.add_cut_point(graph_.add(name, made, folded(".shortcut", x)));
  }

  ConvolutionTraits convolutions() const {
    return {.over_frames = true,
            .before_first = BeforeFirst::first_frame,
            .frames_ahead = config_.causal ? 0 : 1,
            .edges = config_.edges};
  }

  /// A convolution in a submodule named `conv`.
  TensorId conv(const std::string& name, TensorId x, int64_t channels) {
    return graph_.conv(name + ".conv", x, channels, {3, 3, 3}, convolutions());
  }

  TensorId norm(const std::string& name, TensorId x) {
    const int32_t parameters = config_.conditioned ? kWeightAndBias : kNoParameters;
    return graph_.rms_norm(name, x, kRmsEpsilon, Activation::silu, parameters);
  }

  TensorId resnets(const std::string& name, TensorId x, int64_t channels, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x = resnet(name + ".resnets." + std::to_string(i), x, channels);
    return x;
  }

  TensorId resnet(const std::string& name, TensorId x, int64_t channels) {
    TensorId h = conv(name + ".conv1", norm(name + ".norm1", x), channels);
    h = conv(name + ".conv2", norm(name + ".norm2", h), channels);
    if (graph_.tensor(x).channels != channels) {
      x = graph_.layer_norm(name + ".norm3", x, config_.norm_epsilon, Activation::none);
      const std::string module = name + ".conv_shortcut" + (config_.plain_shortcuts ? "" : ".conv");
      x = graph_.conv(module, x, channels, {1, 1, 1}, {.over_frames = true});
    }
    return graph_.add_cut_point(graph_.add(name, h, x));
  }

  /// A convolution with a shortcut, then depth to space and time. diffusers also converts the shortcut's
  /// channels to space and time, and then repeats the whole list. Before the conversion, this adds input
  /// channel k modulo the channels of x to output k.
  TensorId upsample(const std::string& name, TensorId x, const Stage& stage) {
    const Axes<int32_t>& factors = stage.factors;
    const int64_t positions = int64_t{factors.t} * factors.y * factors.x;
    ConvolutionTraits traits = convolutions();
    traits.shortcut = traits.tiled_shortcut = stage.residual;
    x = graph_.conv(name + ".conv.conv", x, stage.channels() * positions, {3, 3, 3}, traits);
    return graph_.add_cut_point(graph_.depth_to_frames(name, x, factors));
  }

  const Config& config_;
  Graph& graph_;
};

Model model_of(const JsonFields& json, const Defaults& defaults) {
  const Config config = read_config(json, defaults);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, 1);
  model.latent_scale_in_weights = true;
  return model;
}

template <EncoderConfig (*read)(const JsonFields&)>
Graph encoder_of(const JsonFields& json) {
  const EncoderConfig config = read(json);
  Graph graph;
  Builder(config.common, graph).encoder(config.width, config.stages);
  return graph;
}

Model build_ltx2(const JsonFields& config) {
  Model model = model_of(config, ltx2_defaults());
  model.handed_on_unscaled = true;
  return model;
}

Model build_ltx(const JsonFields& config) {
  return model_of(config, ltx_defaults());
}

// The configs that Lightricks/LTX-2 and LTX-Video's first version are published with.
const char* const kLtx2 =
    R"({"_class_name": "AutoencoderKLLTX2Video", "out_channels": 3, "latent_channels": 128,
        "decoder_block_out_channels": [256, 512, 1024], "decoder_layers_per_block": [5, 5, 5, 5],
        "decoder_spatio_temporal_scaling": [true, true, true], "decoder_inject_noise": [false, false, false, false],
        "upsample_type": ["spatiotemporal", "spatiotemporal", "spatiotemporal"],
        "upsample_residual": [true, true, true], "upsample_factor": [2, 2, 2], "timestep_conditioning": false,
        "patch_size": 4, "patch_size_t": 1, "resnet_norm_eps": 1e-6, "scaling_factor": 1.0,
        "decoder_causal": false, "decoder_spatial_padding_mode": "reflect"})";
const char* const kLtx23 =
    R"({"_class_name": "AutoencoderKLLTX2Video", "in_channels": 3, "out_channels": 3, "latent_channels": 128,
        "block_out_channels": [256, 512, 1024, 1024], "layers_per_block": [4, 6, 4, 2, 2],
        "decoder_block_out_channels": [256, 512, 512, 1024], "decoder_layers_per_block": [4, 6, 4, 2, 2],
        "decoder_spatio_temporal_scaling": [true, true, true, true],
        "decoder_inject_noise": [false, false, false, false, false],
        "upsample_type": ["spatiotemporal", "spatiotemporal", "temporal", "spatial"],
        "upsample_residual": [false, false, false, false], "upsample_factor": [2, 2, 1, 2],
        "timestep_conditioning": false, "patch_size": 4, "patch_size_t": 1, "resnet_norm_eps": 1e-6,
        "scaling_factor": 1.0, "encoder_causal": true, "decoder_causal": false,
        "encoder_spatial_padding_mode": "zeros", "decoder_spatial_padding_mode": "zeros"})";
const char* const kLtxVideo =
    R"({"_class_name": "AutoencoderKLLTXVideo", "out_channels": 3, "latent_channels": 128,
        "decoder_block_out_channels": [128, 256, 512, 512], "decoder_layers_per_block": [4, 3, 3, 3, 4],
        "decoder_spatio_temporal_scaling": [true, true, true, false],
        "upsample_residual": [false, false, false, false], "upsample_factor": [1, 1, 1, 1],
        "timestep_conditioning": false, "patch_size": 4, "patch_size_t": 1, "resnet_norm_eps": 1e-6,
        "scaling_factor": 1.0, "decoder_causal": false})";

// LTX-Video 0.9.5's, which 0.9.6 to 0.9.8 share.
const char* const kLtxVideo095 =
    R"({"_class_name": "AutoencoderKLLTXVideo", "out_channels": 3, "latent_channels": 128,
        "decoder_block_out_channels": [256, 512, 1024], "decoder_layers_per_block": [5, 5, 5, 5],
        "decoder_spatio_temporal_scaling": [true, true, true], "decoder_inject_noise": [false, false, false, false],
        "upsample_residual": [true, true, true], "upsample_factor": [2, 2, 2], "timestep_conditioning": true,
        "block_out_channels": [128, 256, 512, 1024, 2048], "layers_per_block": [4, 6, 6, 2, 2],
        "down_block_types": ["LTXVideo095DownBlock3D", "LTXVideo095DownBlock3D", "LTXVideo095DownBlock3D",
                             "LTXVideo095DownBlock3D"],
        "downsample_type": ["spatial", "temporal", "spatiotemporal", "spatiotemporal"],
        "spatio_temporal_scaling": [true, true, true, true],
        "patch_size": 4, "patch_size_t": 1, "resnet_norm_eps": 1e-6, "scaling_factor": 1.0, "decoder_causal": false})";

/// Modules of a checkpoint: residual blocks, an upsampling or downsampling, or a residual block that changes
/// the width.
enum class Sequenced { blocks, sampling, widening };

/// Modules whose names start with `start` and a number, by this number.
std::map<int, Sequenced> sequence_of(const CheckpointNames& stored, std::string_view start) {
  std::map<int, Sequenced> sequence;
  for (std::string_view name : stored) {
    if (!take(name, start)) continue;
    const auto number = take_number(name);
    if (!number || !take(name, ".")) continue;
    const Sequenced kind = name.starts_with("res_blocks.") ? Sequenced::blocks
                           : name.starts_with("conv.")     ? Sequenced::sampling
                                                           : Sequenced::widening;
    Sequenced& module = sequence.try_emplace(*number, kind).first->second;
    module = std::min(module, kind);
  }
  return sequence;
}

/// diffusers renames LTX-Video's nested modules, so each block has several names.
void add_block(std::vector<Renaming>& all, const std::string& now, const std::string& before) {
  all.push_back({now, before});
  all.push_back({now + "conv_shortcut.conv.", before + "conv_shortcut."});
  all.push_back({now + "norm3.", before + "norm3.norm."});
}

/// Blocks and samplings are one sequence. In the decoder's, each resolution ends with its residual blocks.
/// Before them are its upsampling and, where the width changes, a residual block that does that. In the
/// encoder's, residual blocks precede these two, and the last blocks are the middle.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  std::vector<Renaming> all{{"latents_mean", "per_channel_statistics.mean-of-means"},
                            {"latents_std", "per_channel_statistics.std-of-means"}};
  int level = -1;  // of the middle
  for (const auto& [number, kind] : sequence_of(stored, "decoder.up_blocks.")) {
    const std::string part =
        level < 0 ? "decoder.mid_block." : "decoder.up_blocks." + std::to_string(level) + ".";
    const std::string before = "decoder.up_blocks." + std::to_string(number) + ".";
    if (kind == Sequenced::sampling) all.push_back({part + "upsamplers.0.", before});
    if (kind == Sequenced::widening) add_block(all, part + "conv_in.", before);
    if (kind != Sequenced::blocks) continue;
    add_block(all, part + "resnets.#.", before + "res_blocks.{a}.");
    ++level;
  }
  const std::map<int, Sequenced> encoder = sequence_of(stored, "encoder.down_blocks.");
  level = -1;
  bool downsampled = true;
  for (const auto& [number, kind] : encoder) {
    if (kind == Sequenced::blocks || (kind == Sequenced::sampling && downsampled)) ++level;
    downsampled = kind != Sequenced::blocks;
    const std::string part = "encoder.down_blocks." + std::to_string(level) + ".";
    const std::string before = "encoder.down_blocks." + std::to_string(number) + ".";
    const bool middle = number == encoder.rbegin()->first;
    if (kind == Sequenced::blocks)
      add_block(all, (middle ? "encoder.mid_block." : part) + "resnets.#.", before + "res_blocks.{a}.");
    if (kind == Sequenced::sampling) all.push_back({part + "downsamplers.0.", before});
    if (kind == Sequenced::widening) add_block(all, part + "conv_out.", before);
  }
  return all;
}

}  // namespace

// diffusers 0.42.1: models/autoencoders/autoencoder_kl_ltx2.py and autoencoder_kl_ltx.py.
std::vector<Family> ltx_video_families() {
  const LatentPacking packing{
      .pipelines = "LTX ",
      .unpack = "pipe._unpack_latents(latents, latent_frames, latent_height, latent_width)"};
  return {{.class_name = "AutoencoderKLLTX2Video",
           .source_file = "autoencoder_kl_ltx2.py",
           .packing = packing,
           // LTX-2's whole checkpoint also has an audio decoder, under Stable Diffusion's names
           .original_names = {.key = "ltx",
                              .decoder_mark = "decoder.up_blocks.0.res_blocks.0.conv1.conv.weight",
                              .encoder_mark = "encoder.down_blocks.0.res_blocks.0.conv1.conv.weight",
                              .first = true,
                              .renamings = renamings},
           .built_ins = {{"ltx-2", kLtx2}, {"ltx-2.3", kLtx23}},
           .build = build_ltx2,
           .encoder = encoder_of<read_ltx2_encoder>},
          {.class_name = "AutoencoderKLLTXVideo",
           .source_file = "autoencoder_kl_ltx.py",
           .packing = packing,
           .original_names = {.key = "ltx_video"},
           .built_ins = {{"ltx-video", kLtxVideo}, {"ltx-video-0.9.5", kLtxVideo095}},
           .build = build_ltx,
           .encoder = encoder_of<read_ltx_encoder>}};
}

}  // namespace headroom
