#include "decoder/families/families.h"

#include <algorithm>

#include "decoder/families/group_norm_blocks.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int32_t kGroups = 32;
constexpr int64_t kMostChannels = 1 << 14;
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
  const JsonFields widths = json["block_out_channels"];
  for (size_t i = 0; i < widths.size(kMostStages); ++i) {
    config.widths.push_back(widths[i].integer(1, kMostChannels));
    if (config.widths.back() % kGroups != 0)
      widths[i].fail("expected a multiple of the norms' 32 groups, found " +
                     std::to_string(config.widths.back()));
  }
  if (config.widths.empty()) widths.fail("expected at least one width");
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
       .encoder = encoder}};
}

}  // namespace headroom
