#include "decoder/families/families.h"

#include <algorithm>

#include "decoder/families/group_norm_blocks.h"
#include "decoder/families/group_norm_widths.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int32_t kGroups = 32;
constexpr double kEpsilon3 = 1e-6;  ///< of HunyuanImage 3's norms
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
constexpr int32_t kPixels = 2;  ///< factor of a resampling along each side

struct Config {
  int64_t latent_channels = 0;
  int64_t picture_channels = 0;
  std::vector<int64_t> widths;  ///< from the finest resolution
  int64_t layers = 0;
  int64_t compression = 0;  ///< pixels along each side of a latent position
};

/// True if a resampling follows the blocks of `stage`. The decoder counts stages from the coarsest, the
/// encoder from the finest.
bool resamples(const Config& config, size_t stage) {
  return stage + 1 < config.widths.size() && (int64_t{1} << stage) < config.compression;
}

/// The decoder's or the encoder's keys and words.
struct Side {
  bool encodes = false;
  const char* picture_channels = "out_channels";
  const char* match_channels = "upsample_match_channel";
  const char* resampling = "upsampling";
};
constexpr Side kDecoder{};
constexpr Side kEncoder{true, "in_channels", "downsample_match_channel", "downsampling"};

/// Checks that the number of channels changes only in resamplings. The shortcut of an upsampling must be able
/// to repeat the coarser resolution's channels, that of a downsampling to average the finer one's.
void check_widths(const Config& config, const JsonFields& json, const Side& side) {
  const size_t stages = config.widths.size();
  const auto fail = [&](size_t i, const std::string& what) { json["block_out_channels"][i].fail(what); };
  const int64_t latents = (side.encodes ? 2 : 1) * config.latent_channels;
  if (config.widths.back() % latents != 0)
    fail(stages - 1, "expected a multiple of " + std::string(side.encodes ? "twice " : "") +
                         "latent_channels = " + std::to_string(latents) + ", found " +
                         std::to_string(config.widths.back()));
  const bool match_channels = !json.has(side.match_channels) || json[side.match_channels].boolean();
  for (size_t at = 0; at + 1 < stages; ++at) {
    const int64_t coarser = config.widths[at + 1], finer = config.widths[at];
    const std::string found = ", found " + std::to_string(finer);
    if (coarser != finer && !resamples(config, side.encodes ? at : stages - 2 - at))
      fail(at, "expected " + std::to_string(coarser) + " as in the next entry, because no " +
                   side.resampling + " separates them" + found);
    if (coarser != finer && !match_channels)
      fail(at, "expected " + std::to_string(coarser) + " as in the next entry, without " +
                   side.match_channels + found);
    if (kPixels * kPixels * finer % coarser != 0)
      fail(at, "expected " + std::to_string(kPixels * kPixels) + " times it to be a multiple of " +
                   std::to_string(coarser) + found);
  }
}

/// diffusers has no defaults for these keys.
Config read_config(const JsonFields& json, const Side& side = kDecoder) {
  Config config;
  config.latent_channels = json["latent_channels"].integer(1, 1024);
  config.picture_channels = json[side.picture_channels].integer(1, 1024);
  config.layers = json["layers_per_block"].integer(0, kMostLayers);
  config.compression = json["spatial_compression_ratio"].integer(1, 1 << kMostStages);
  config.widths = read_widths(json["block_out_channels"], kGroups);
  check_widths(config, json, side);
  return config;
}

/// Adds the blocks of the decoder or the encoder to a graph. Shapes are N×C×1×H×W. `up_blocks` and
/// `down_blocks` number residual blocks and resamplings through all resolutions.
class Builder {
 public:
  Builder(const Config& config, Graph& graph)
      : config_(config), graph_(graph), blocks_(graph, kGroups, Activation::silu) {}

  void decoder() {
    const size_t stages = config_.widths.size();
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = graph_.conv("decoder.conv_in", x, config_.widths.back(), {1, 3, 3}, {.shortcut = true});
    x = mid_block("decoder", x);
    int64_t number = 0;
    const auto next = [&] { return "decoder.up_blocks." + std::to_string(number++); };
    for (size_t stage = 0; stage < stages; ++stage) {
      const int64_t width = config_.widths[stages - 1 - stage];
      for (int64_t layer = 0; layer <= config_.layers; ++layer) x = blocks_.resnet(next(), x, width);
      if (resamples(config_, stage)) x = upsample(next(), x, config_.widths[stages - 2 - stage]);
    }
    x = blocks_.normalised("decoder.norm_out", x, Activation::silu);
    graph_.set_output(graph_.conv("decoder.conv_out", x, config_.picture_channels, {1, 3, 3}));
  }

  void encoder() {
    const size_t stages = config_.widths.size();
    int32_t scale = 1;
    for (size_t stage = 0; stage < stages; ++stage) scale *= resamples(config_, stage) ? kPixels : 1;
    TensorId x = graph_.add_picture(config_.picture_channels, {1, scale, scale});
    x = graph_.conv("encoder.conv_in", x, config_.widths.front(), {1, 3, 3});
    int64_t number = 0;
    const auto next = [&] { return "encoder.down_blocks." + std::to_string(number++); };
    for (size_t stage = 0; stage < stages; ++stage) {
      for (int64_t layer = 0; layer < config_.layers; ++layer)
        x = blocks_.resnet(next(), x, config_.widths[stage]);
      if (resamples(config_, stage)) x = downsample(next(), x, config_.widths[stage + 1]);
    }
    x = mid_block("encoder", x);
    const int64_t moments = 2 * config_.latent_channels;
    const TensorId shortcut = graph_.space_to_depth("encoder.shortcut", x, moments, {1, 1, 1});
    x = blocks_.normalised("encoder.norm_out", x, Activation::silu);
    x = graph_.conv("encoder.conv_out", x, moments, {1, 3, 3});
    graph_.set_output(graph_.add("encoder.sum", x, shortcut));
  }

 private:
  TensorId mid_block(const std::string& side, TensorId x) {
    const std::string name = side + ".mid_block.";
    x = blocks_.resnet(name + "resnets.0", x, config_.widths.back());
    x = blocks_.attention(name + "attentions.0", x, {.norm = "norm", .output = "proj", .linear = false});
    return blocks_.resnet(name + "resnets.1", x, config_.widths.back());
  }

  /// A convolution, then space to depth, and a shortcut of means.
  TensorId downsample(const std::string& name, TensorId x, int64_t channels) {
    const auto folded = [&](const char* what, TensorId from) {
      return graph_.space_to_depth(name + what, from, channels, {1, kPixels, kPixels},
                                   {.order = FoldOrder::frame_row_column_channel});
    };
    const TensorId h = graph_.conv(name + ".conv", x, channels / (kPixels * kPixels), {1, 3, 3});
    const TensorId made = folded(".space_to_depth", h);
    return graph_.add(name, made, folded(".shortcut", x));
  }

  /// A convolution with a shortcut of repeated input channels, then depth to space.
  TensorId upsample(const std::string& name, TensorId x, int64_t channels) {
    x = graph_.conv(
        name + ".conv", x, kPixels * kPixels * channels, {1, 3, 3},
        {.shortcut = true, .stored_side = kPixels, .stored_order = StoredOrder::row_column_channel});
    return graph_.depth_to_space(name + ".depth_to_space", x, {1, kPixels, kPixels});
  }

  const Config& config_;
  Graph& graph_;
  GroupNormBlocks blocks_;
};

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, std::nullopt);
  return model;
}

/// HunyuanImage 3's decoder is one of clips, and pictures alone go through it. Some upsamplings double the
/// frames, so one latent becomes a few frames, and the last one is the picture. These frames lie in the
/// channels. Kernels over frames read zeros at both ends, norms cover all frames.
struct Config3 {
  int64_t latent_channels = 0, out_channels = 0, layers = 0;
  std::vector<int64_t> widths;  ///< from the coarsest resolution
  int64_t pixels = 0, frames = 0;
  bool match_channels = true;

  bool upsamples(size_t level) const { return (int64_t{1} << level) < pixels; }
  int32_t frames_made(size_t level) const { return (int64_t{1} << level) < frames ? 2 : 1; }
  int64_t width_after(size_t level) const { return widths[match_channels ? level + 1 : level]; }
};

/// The published class has no defaults for these keys.
Config3 read_config_3(const JsonFields& json) {
  constexpr int64_t kMostFrames = 8;
  Config3 config;
  config.latent_channels = json["latent_channels"].integer(1, 1024);
  config.out_channels = json["out_channels"].integer(1, 1024);
  config.layers = json["layers_per_block"].integer(0, kMostLayers);
  config.pixels = json["ffactor_spatial"].integer(1, 1 << kMostStages);
  config.frames = json["ffactor_temporal"].integer(1, std::min(kMostFrames, config.pixels));
  if (json.has("upsample_match_channel")) config.match_channels = json["upsample_match_channel"].boolean();
  config.widths = read_widths(json["block_out_channels"], kGroups);
  const JsonFields widths = json["block_out_channels"];
  if (config.widths.back() % config.latent_channels != 0)
    widths[config.widths.size() - 1].fail(
        "expected a multiple of latent_channels = " + std::to_string(config.latent_channels) + ", found " +
        std::to_string(config.widths.back()));
  std::reverse(config.widths.begin(), config.widths.end());
  if (config.upsamples(config.widths.size() - 1))
    widths.fail("expected a width for each upsampling to ffactor_spatial = " + std::to_string(config.pixels) +
                " and one more, found " + std::to_string(config.widths.size()));
  for (size_t level = 0; config.upsamples(level); ++level) {
    const int64_t made = int64_t{kPixels} * kPixels * config.frames_made(level) * config.width_after(level);
    if (made % config.widths[level] != 0)
      widths.fail("expected widths whose channels an upsampling can repeat, found " +
                  std::to_string(config.widths[level]) + " before " +
                  std::to_string(config.width_after(level)));
  }
  return config;
}

class Builder3 {
 public:
  Builder3(const Config3& config, Graph& graph) : config_(config), graph_(graph) {}

  void decoder() {
    TensorId x = graph_.add_latent(config_.latent_channels);
    ConvolutionTraits in = of_one_frame(3);
    in.shortcut = true;
    x = graph_.conv("decoder.conv_in", x, config_.widths.front(), {1, 3, 3}, in);
    x = resnet("decoder.mid.block_1", x, config_.widths.front());
    x = attention("decoder.mid.attn_1", x);
    x = resnet("decoder.mid.block_2", x, config_.widths.front());
    for (size_t level = 0; level < config_.widths.size(); ++level) {
      const std::string name = "decoder.up." + std::to_string(level) + ".";
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = resnet(name + "block." + std::to_string(layer), x, config_.widths[level]);
      if (config_.upsamples(level)) x = upsample(name + "upsample", x, level);
    }
    x = normalised("decoder.norm_out", x);
    graph_.set_output(graph_.conv("decoder.conv_out", x, config_.out_channels, {1, 3, 3},
                                  over_frames(3, {.inputs = frames_, .first = frames_ - 1})));
  }

 private:
  static ConvolutionTraits of_one_frame(int32_t side) {
    ConvolutionTraits traits{.over_frames = true};
    if (side > 1) traits.stored_frames = side;
    traits.stored_ahead = side / 2;
    return traits;
  }

  /// Traits of a stored kernel that is as long along the time as along rows and columns.
  static ConvolutionTraits over_frames(int32_t side, const FramesInChannels& frames) {
    if (!frames.several()) return of_one_frame(side);
    ConvolutionTraits traits{.over_frames = true};
    traits.stored_frames = side;
    traits.frames = frames;
    return traits;
  }

  TensorId conv(const std::string& name, TensorId x, int64_t channels, int32_t side) {
    return graph_.conv(name, x, channels * frames_, {1, side, side},
                       over_frames(side, {.inputs = frames_, .outputs = frames_}));
  }

  TensorId statistics_of(const std::string& name, TensorId x) {
    return graph_.statistics(name + ".statistics", x, kGroups, kEpsilon3);
  }
  TensorId normalised(const std::string& name, TensorId x, Activation activation = Activation::silu) {
    return graph_.norm(name, x, statistics_of(name, x), activation, frames_);
  }

  TensorId resnet(const std::string& name, TensorId x, int64_t channels) {
    TensorId h = conv(name + ".conv1", normalised(name + ".norm1", x), channels, 3);
    h = conv(name + ".conv2", normalised(name + ".norm2", h), channels, 3);
    const bool same = graph_.tensor(x).channels == channels * frames_;
    return graph_.add(name, h, same ? x : conv(name + ".nin_shortcut", x, channels, 1));
  }

  TensorId attention(const std::string& name, TensorId x) {
    AttentionModules modules;
    modules.q.module = name + ".q";
    modules.k.module = name + ".k";
    modules.v.module = name + ".v";
    modules.out = name + ".proj_out";
    modules.over_frames = true;
    const TensorId normed = normalised(name + ".norm", x, Activation::none);
    return graph_.add(name, graph_.self_attention(name, normed, modules), x);
  }

  /// A convolution with a shortcut of repeated input channels, whose channels become frames and pixels.
  TensorId upsample(const std::string& name, TensorId x, size_t level) {
    const int32_t made = config_.frames_made(level), before = frames_;
    frames_ *= made;
    ConvolutionTraits traits = over_frames(3, {.inputs = before, .outputs = frames_, .made = made});
    traits.shortcut = true;
    traits.stored_side = kPixels;
    traits.stored_order = StoredOrder::row_column_channel;
    x = graph_.conv(name + ".conv", x, kPixels * kPixels * config_.width_after(level) * frames_, {1, 3, 3},
                    traits);
    return graph_.depth_to_space(name + ".depth_to_space", x, {1, kPixels, kPixels});
  }

  const Config3& config_;
  Graph& graph_;
  int32_t frames_ = 1;
};

Model build_3(const JsonFields& json) {
  const Config3 config = read_config_3(json);
  Model model;
  model.latent_channels = config.latent_channels;
  Builder3(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, std::nullopt);
  model.shift_factor = shift_factor(json, 0).value_or(0);  // its default is None
  return model;
}

/// Stable Diffusion's names with resolutions in the order of the computation. diffusers numbers the blocks
/// and resamplings of all resolutions.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  std::vector<Renaming> all;
  for (const std::string way : {"decoder.up", "encoder.down"}) {
    const int64_t blocks = std::min(count_of(stored, way + ".#.block.#."), kMostLayers + 1);
    for (int64_t level = 0; level < int64_t{kMostStages}; ++level) {
      const std::string resampling = way == "decoder.up" ? "upsample." : "downsample.";
      for (int64_t module = 0; module <= blocks; ++module) {
        all.push_back({way + "_blocks." + std::to_string(level * (blocks + 1) + module) + ".",
                       way + "." + std::to_string(level) + "." +
                           (module == blocks ? resampling : "block." + std::to_string(module) + ".")});
      }
    }
  }
  return all;
}

Graph encoder(const JsonFields& json) {
  const Config config = read_config(json, kEncoder);
  Graph graph;
  Builder(config, graph).encoder();
  return graph;
}

}  // namespace

// HunyuanImage 2.1's, diffusers 0.42.1: models/autoencoders/autoencoder_kl_hunyuanimage.py. The class has no
// default for two keys of the encoder, so the config has them too.
std::vector<Family> hunyuan_image_families() {
  return {
      {.class_name = "AutoencoderKLHunyuanImage",
       .source_file = "autoencoder_kl_hunyuanimage.py",
       .original_names = {.key = "hunyuan_image",
                          .decoder_mark = "decoder.mid.block_1.norm1.weight",
                          .encoder_mark = "encoder.mid.block_1.norm1.weight",
                          .renamings = renamings},
       .built_ins =
           {{"hunyuan-image-2.1",
             R"({"_class_name": "AutoencoderKLHunyuanImage", "in_channels": 3, "out_channels": 3, "latent_channels": 64,
           "block_out_channels": [128, 256, 512, 512, 1024, 1024], "layers_per_block": 2, "sample_size": 384,
           "spatial_compression_ratio": 32, "scaling_factor": 0.75289, "upsample_match_channel": true})"}},
       .build = build,
       .encoder = encoder},
      // HunyuanImage 3's (Tencent-Hunyuan/HunyuanImage-3.0: autoencoder_kl_3d.py). Its checkpoints have the
      // names of the published class. The built-in config is that of the model's vae entry.
      {.class_name = "AutoencoderKLConv3D",
       .source_file = "autoencoder_kl_3d.py",
       .in_diffusers = false,
       .built_ins = {{"hunyuan-image-3",
                      R"({"_class_name": "AutoencoderKLConv3D", "out_channels": 3, "latent_channels": 32,
           "block_out_channels": [128, 256, 512, 1024, 1024], "layers_per_block": 2, "ffactor_spatial": 16,
           "ffactor_temporal": 4, "upsample_match_channel": true, "scaling_factor": 0.562679178327931,
           "shift_factor": null})"}},
       .build = build_3}};
}

}  // namespace headroom
