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
constexpr int32_t kPixels = 2;  ///< factor of a depth-to-space upsampling along each side

struct Config {
  int64_t latent_channels = 0;
  int64_t out_channels = 0;
  std::vector<int64_t> widths;  ///< from the finest resolution
  int64_t layers = 0;
  int64_t compression = 0;  ///< pixels along each side of a latent position
};

/// True if an upsampling follows the blocks of `stage`. Stages count from the coarsest.
bool upsamples(const Config& config, size_t stage) {
  return stage + 1 < config.widths.size() && (int64_t{1} << stage) < config.compression;
}

/// Checks that the number of channels changes only in upsamplings. The upsampling's shortcut must be able to
/// repeat its channels to the new number.
void check_widths(const Config& config, const JsonFields& json, bool match_channels) {
  const size_t stages = config.widths.size();
  const auto fail = [&](size_t i, const std::string& what) { json["block_out_channels"][i].fail(what); };
  if (config.widths.back() % config.latent_channels != 0)
    fail(stages - 1, "expected a multiple of latent_channels = " + std::to_string(config.latent_channels) +
                         ", found " + std::to_string(config.widths.back()));
  for (size_t stage = 0; stage + 1 < stages; ++stage) {
    const size_t at = stages - 2 - stage;
    const int64_t from = config.widths[at + 1], to = config.widths[at];
    const std::string found = ", found " + std::to_string(to);
    if (from != to && !upsamples(config, stage))
      fail(at, "expected " + std::to_string(from) +
                   " as in the next entry, because no upsampling separates them" + found);
    if (from != to && !match_channels)
      fail(at, "expected " + std::to_string(from) + " as in the next entry, without upsample_match_channel" +
                   found);
    if (kPixels * kPixels * to % from != 0)
      fail(at, "expected " + std::to_string(kPixels * kPixels) + " times it to be a multiple of " +
                   std::to_string(from) + found);
  }
}

/// diffusers has no defaults for these keys.
Config read_config(const JsonFields& json) {
  Config config;
  config.latent_channels = json["latent_channels"].integer(1, 1024);
  config.out_channels = json["out_channels"].integer(1, 1024);
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
  check_widths(config, json, !json.has("upsample_match_channel") || json["upsample_match_channel"].boolean());
  return config;
}

/// Adds the decoder's blocks to a graph. Shapes are N×C×1×H×W. `up_blocks` numbers residual blocks and
/// upsamplings through all resolutions.
class Builder {
 public:
  Builder(const Config& config, Graph& graph)
      : config_(config), graph_(graph), blocks_(graph, kGroups, Activation::silu) {}

  void decoder() {
    const size_t stages = config_.widths.size();
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = graph_.conv("decoder.conv_in", x, config_.widths.back(), {1, 3, 3}, {.shortcut = true});
    x = blocks_.resnet("decoder.mid_block.resnets.0", x, config_.widths.back());
    x = blocks_.attention("decoder.mid_block.attentions.0", x,
                          {.norm = "norm", .output = "proj", .linear = false});
    x = blocks_.resnet("decoder.mid_block.resnets.1", x, config_.widths.back());
    int64_t number = 0;
    const auto next = [&] { return "decoder.up_blocks." + std::to_string(number++); };
    for (size_t stage = 0; stage < stages; ++stage) {
      const int64_t width = config_.widths[stages - 1 - stage];
      for (int64_t layer = 0; layer <= config_.layers; ++layer) x = blocks_.resnet(next(), x, width);
      if (upsamples(config_, stage)) x = upsample(next(), x, config_.widths[stages - 2 - stage]);
    }
    x = blocks_.normalised("decoder.norm_out", x, Activation::silu);
    graph_.set_output(graph_.conv("decoder.conv_out", x, config_.out_channels, {1, 3, 3}));
  }

 private:
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

/// Stable Diffusion's names with resolutions from the coarsest. diffusers numbers the blocks and upsamplings
/// of all resolutions in the order of decoding.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  const int64_t blocks = std::min(count_of(stored, "decoder.up.#.block.#."), kMostLayers + 1);
  std::vector<Renaming> all;
  for (int64_t level = 0; level < int64_t{kMostStages}; ++level) {
    const std::string up = "decoder.up." + std::to_string(level) + ".";
    for (int64_t module = 0; module <= blocks; ++module) {
      all.push_back({"decoder.up_blocks." + std::to_string(level * (blocks + 1) + module) + ".",
                     up + (module == blocks ? "upsample." : "block." + std::to_string(module) + ".")});
    }
  }
  return all;
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
                          .renamings = renamings},
       .built_ins =
           {{"hunyuan-image-2.1",
             R"({"_class_name": "AutoencoderKLHunyuanImage", "in_channels": 3, "out_channels": 3, "latent_channels": 64,
           "block_out_channels": [128, 256, 512, 512, 1024, 1024], "layers_per_block": 2, "sample_size": 384,
           "spatial_compression_ratio": 32, "scaling_factor": 0.75289, "upsample_match_channel": true})"}},
       .build = build}};
}

}  // namespace headroom
