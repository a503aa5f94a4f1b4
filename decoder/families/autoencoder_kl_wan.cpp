#include "decoder/families/families.h"

#include "decoder/families/latent_channels.h"
#include "decoder/families/rms_norm_blocks.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
constexpr int64_t kMostPatch = 8;
constexpr int64_t kBaseWidth = 96;
constexpr const char* kDecoderMark =
    "decoder.middle.0.residual.0.gamma";  ///< a tensor of original checkpoints

/// Config with the defaults of diffusers' classes.
struct Config {
  int64_t width = kBaseWidth;
  int64_t decoder_width = 0;  ///< default decoder width; 0: the encoder's width is the default
  int64_t latent_channels = 16;
  int64_t picture_channels = 3;
  int64_t layers = 2;
  std::vector<int64_t> multiples{1, 2, 4, 4};  ///< channels as multiples of the width, from the finest
                                               ///< resolution
  std::vector<bool> frames_downsampled{false, true, true};  ///< between resolutions, in the encoder's order
  bool residual = false;  ///< a shortcut bypasses all blocks of a resolution, as in Wan 2.2
  int64_t patch = 1;      ///< patch size: decoder outputs become patches of this many pixels per side
  StoredOrder patch_order = StoredOrder::channel_row_column;
  bool of_pictures = false;  ///< kernels have no time axis
};

/// Reads a list into `values`, with `read(element)` for each element. A missing key leaves `values`
/// unchanged.
template <typename T, typename F>
void read_list(const JsonFields& json, const char* key, std::vector<T>& values, const F& read) {
  if (!json.has(key)) return;
  const JsonFields list = json[key];
  values.clear();
  for (size_t i = 0; i < list.size(kMostStages); ++i) values.push_back(read(list[i]));
}

/// Checks that shortcuts can repeat their channels to the pixels of the next resolution.
void check_shortcuts(const Config& config, const JsonFields& json) {
  const std::vector<int64_t>& multiples = config.multiples;
  for (size_t i = 0; i + 1 < multiples.size(); ++i) {
    // The block that makes resolution i + 1 finer has the channels of the one before it, or its own.
    const int64_t from = multiples[std::min(i + 2, multiples.size() - 1)];
    const int64_t pixels = config.frames_downsampled[i] ? 8 : 4;
    if (multiples[i + 1] * pixels % from != 0) {
      json.fail("dim_mult: " + std::to_string(from) + " cannot be repeated into " + std::to_string(pixels) +
                " times " + std::to_string(multiples[i + 1]));
    }
  }
}

/// Reads the side of the squares of pixels that decoder outputs become. diffusers' key is `patch_size`. The
/// key `pixel_shuffle` is Headroom's own, for pixels in the order of torch.nn.functional.pixel_shuffle.
void read_patch(const JsonFields& json, const char* picture_channels, Config& config) {
  for (const auto& [key, order] : {std::pair{"patch_size", StoredOrder::channel_column_row},
                                   std::pair{"pixel_shuffle", StoredOrder::channel_row_column}}) {
    if (!json.has(key) || json[key].is_null()) continue;
    const int64_t side = json[key].integer(1, kMostPatch);
    if (side == 1) continue;
    if (config.patch > 1) json[key].fail("expected only one of patch_size and pixel_shuffle");
    if (config.picture_channels % (side * side) != 0) {
      json[key].fail("expected " + std::string(picture_channels) + " to be a multiple of " +
                     std::to_string(side * side) + ", found " + std::to_string(config.picture_channels));
    }
    config.patch = side;
    config.patch_order = order;
  }
}

/// `picture_channels` is the class's key for the channels of its output.
Config read_config(const JsonFields& json, const char* picture_channels, Config config) {
  const auto integer = [&](const char* key, int64_t most, int64_t otherwise) {
    return json.has(key) && !json[key].is_null() ? json[key].integer(1, most) : otherwise;
  };
  const auto is_null = [&](const char* key) { return json.has(key) && json[key].is_null(); };
  // Default of decoder_base_dim if the class has no default of its own: the encoder's width.
  const int64_t base = integer("base_dim", kMostChannels, kBaseWidth);
  const bool own = !is_null("decoder_base_dim") && config.decoder_width > 0;
  config.width = integer("decoder_base_dim", kMostChannels, own ? config.decoder_width : base);
  config.latent_channels = integer("z_dim", 1024, config.latent_channels);
  config.picture_channels = integer(picture_channels, 1024, config.picture_channels);
  config.layers = integer("num_res_blocks", kMostLayers, config.layers);
  read_list(json, "dim_mult", config.multiples, [](const JsonFields& field) { return field.integer(1, 64); });
  if (config.multiples.empty()) json["dim_mult"].fail("expected at least one multiple");
  read_list(json, "temperal_downsample", config.frames_downsampled,
            [](const JsonFields& field) { return field.boolean(); });
  if (config.frames_downsampled.size() + 1 != config.multiples.size()) {
    json.fail("temperal_downsample: expected one fewer than dim_mult has, " +
              std::to_string(config.multiples.size() - 1) + ", found " +
              std::to_string(config.frames_downsampled.size()));
  }
  if (json.has("is_residual")) config.residual = json["is_residual"].boolean();
  // Headroom's own key, for checkpoints of pictures whose kernels have lost their time axis.
  if (json.has("kernel_frames")) config.of_pictures = json["kernel_frames"].integer(1, 1) == 1;
  if (config.residual) check_shortcuts(config, json);
  read_patch(json, picture_channels, config);
  return config;
}

/// Checks that the encoder's shortcuts can average their channels.
void check_means(const Config& config, const JsonFields& json) {
  int64_t from = 1;  // the first stage begins with the base width
  for (size_t i = 0; i < config.multiples.size(); ++i) {
    const bool last = i + 1 == config.multiples.size();
    const int64_t pixels = last ? 1 : config.frames_downsampled[i] ? 8 : 4;
    if (from * pixels % config.multiples[i] != 0) {
      json.fail("dim_mult: " + std::to_string(pixels) + " times " + std::to_string(from) +
                " cannot be averaged to " + std::to_string(config.multiples[i]));
    }
    from = config.multiples[i];
  }
}

/// The encoder's part of a config. `picture_channels` is the class's key for the channels of its input.
Config read_encoder(const JsonFields& json, const char* picture_channels, const char* output_channels,
                    const Config& defaults = {}) {
  Config config = read_config(json, output_channels, defaults);
  const auto integer = [&](const char* key, int64_t most, int64_t otherwise) {
    return json.has(key) && !json[key].is_null() ? json[key].integer(1, most) : otherwise;
  };
  config.width = integer("base_dim", kMostChannels, kBaseWidth);
  if (config.patch_order == StoredOrder::channel_row_column) config.patch = 1;  // only the decoder upscales
  config.picture_channels = integer(picture_channels, 1024, defaults.picture_channels);
  if (json.has("attn_scales") && json["attn_scales"].size(kMostStages) > 0)
    json["attn_scales"].fail("attention in the encoder's blocks is not supported");
  const int64_t pixels = config.patch * config.patch;
  if (config.picture_channels % pixels != 0)
    json.fail(std::string(picture_channels) + ": expected a multiple of " + std::to_string(pixels));
  if (config.residual) check_means(config, json);
  return config;
}

/// Adds the blocks of the decoder or the encoder to a graph. After the only attention no barrier ends a pass.
/// So each residual block and upsampling is an optional cut point.
class Builder {
 public:
  Builder(const Config& config, const JsonFields& json, Graph& graph)
      : config_(config), json_(json), graph_(graph), blocks_(graph, {"", {.over_frames = over_frames()}}) {}

  void decoder() {
    const int64_t widest = config_.width * config_.multiples.back();
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = blocks_.conv("post_quant_conv", x, config_.latent_channels, 1);
    x = blocks_.conv("decoder.conv_in", x, widest, 3);
    x = mid_block("decoder", x);
    const size_t stages = config_.multiples.size();
    for (size_t i = 0; i < stages; ++i) {
      const std::string name = "decoder.up_blocks." + std::to_string(i);
      const int64_t width = config_.width * config_.multiples[stages - 1 - i];
      const TensorId coarse = x;
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, width);
      if (i + 1 == stages) break;
      const bool frames = config_.frames_downsampled[stages - 2 - i];
      if (config_.residual) {
        x = upsample(name + ".upsampler", x, frames, width);
        x = graph_.add(name, x, shortcut(name + ".avg_shortcut", coarse, frames, width));
      } else {
        if (width < 2) json_["base_dim"].fail("expected at least 2 channels where it upsamples");
        x = upsample(name + ".upsamplers.0", x, frames, width / 2);
      }
      graph_.add_cut_point(x);
    }
    x = blocks_.norm("decoder.norm_out", x, Activation::silu);
    const auto patch = static_cast<int32_t>(config_.patch);
    const ConvolutionTraits traits{.activation = Activation::clamp,
                                   .over_frames = over_frames(),
                                   .stored_side = patch,
                                   .stored_order = config_.patch_order};
    x = graph_.conv("decoder.conv_out", x, config_.picture_channels, {over_frames() ? 3 : 1, 3, 3}, traits);
    if (patch > 1) x = graph_.depth_to_space("unpatchify", x, {1, patch, patch});
    graph_.set_output(x);
  }

  void encoder() {
    const size_t stages = config_.multiples.size();
    Axes<int32_t> scale{1, static_cast<int32_t>(config_.patch), static_cast<int32_t>(config_.patch)};
    for (const bool frames : config_.frames_downsampled)
      scale = {frames && over_frames() ? 2 * scale.t : scale.t, 2 * scale.y, 2 * scale.x};
    const Axes<int32_t> patch{1, static_cast<int32_t>(config_.patch), static_cast<int32_t>(config_.patch)};
    TensorId x = graph_.add_picture(config_.picture_channels / (config_.patch * config_.patch), scale);
    if (config_.patch > 1) {
      x = graph_.space_to_depth("patchify", x, config_.picture_channels, patch,
                                {.order = FoldOrder::channel_column_row});
    }
    x = blocks_.conv("encoder.conv_in", x, config_.width, 3);
    size_t block = 0;
    for (size_t i = 0; i < stages; ++i) {
      const int64_t width = config_.width * config_.multiples[i];
      const bool last = i + 1 == stages, frames = !last && config_.frames_downsampled[i];
      const std::string blocks = "encoder.down_blocks.";
      const TensorId fine = x;
      for (int64_t layer = 0; layer < config_.layers; ++layer) {
        const std::string of_stage = std::to_string(i) + ".resnets." + std::to_string(layer);
        x = blocks_.resnet(blocks + (config_.residual ? of_stage : std::to_string(block++)), x, width);
      }
      if (config_.residual) {
        const std::string name = blocks + std::to_string(i);
        if (!last) x = downsample(name + ".downsampler", x, frames);
        const Axes<int32_t> stride{frames && over_frames() ? 2 : 1, last ? 1 : 2, last ? 1 : 2};
        x = graph_.add(name, x,
                       graph_.space_to_depth(name + ".avg_shortcut", fine, width, stride,
                                             {.frames = frames ? 2 : 1, .first = FoldFirst::zeros}));
      } else if (!last) {
        x = downsample(blocks + std::to_string(block++), x, frames);
      }
      graph_.add_cut_point(x);
    }
    x = mid_block("encoder", x);
    x = blocks_.norm("encoder.norm_out", x, Activation::silu);
    const int64_t moments = 2 * config_.latent_channels;
    x = blocks_.conv("encoder.conv_out", x, moments, 3);
    graph_.set_output(blocks_.conv("quant_conv", x, moments, 1));
  }

 private:
  TensorId mid_block(const std::string& side, TensorId x) {
    const int64_t channels = graph_.tensor(x).channels;
    x = blocks_.resnet(side + ".mid_block.resnets.0", x, channels);
    x = attention(side + ".mid_block.attentions.0", x);
    return blocks_.resnet(side + ".mid_block.resnets.1", x, channels);
  }

  /// Downsamples rows and columns, then frames.
  TensorId downsample(const std::string& name, TensorId x, bool frames) {
    const int64_t channels = graph_.tensor(x).channels;
    x = graph_.strided_conv(name + ".resample.1", x, channels, {1, 3, 3}, {1, 2, 2}, {.begins_at_own = true});
    if (!frames || !over_frames()) return x;
    return graph_.strided_conv(name + ".time_conv", x, channels, {3, 1, 1}, {2, 1, 1},
                               {.over_frames = true, .keeps_first_frame = true});
  }

  bool over_frames() const { return !config_.of_pictures; }

  TensorId attention(const std::string& name, TensorId x) {
    const TensorId normed = blocks_.norm(name + ".norm", x, Activation::none, RmsNormBlocks::kByFrame);
    AttentionModules modules;
    int32_t number = 0;
    for (ModulePart* part : {&modules.q, &modules.k, &modules.v}) {
      part->module = name + ".to_qkv";
      part->part = number++;
      part->parts = 3;
    }
    modules.out = name + ".proj";
    return graph_.add(name, graph_.self_attention(name, normed, modules), x);
  }

  /// Upsamples frames, then rows and columns. Each frame after the first becomes two. The convolution that
  /// makes them reads only frames after the first.
  TensorId upsample(const std::string& name, TensorId x, bool frames, int64_t outputs) {
    const int64_t channels = graph_.tensor(x).channels;
    if (frames && over_frames()) {
      const TensorId folded =
          graph_.conv(name + ".time_conv", x, 2 * channels, {3, 1, 1},
                      {.over_frames = true, .before_first = BeforeFirst::zeros_instead_of_first_frame});
      x = graph_.unfold_frames(name + ".frames", x, folded);
    }
    return graph_.upsampled_conv(name + ".resample.1", x, outputs);
  }

  /// Shortcut around all blocks of a resolution (DupUp3D). It repeats input channels into pixels and frames
  /// of the next resolution. Pictures use the last of these frames.
  TensorId shortcut(const std::string& name, TensorId x, bool frames, int64_t channels) {
    const int32_t in_depth = frames ? 2 : 1;
    return graph_.repeated_depth_to_space(name, x, channels, {over_frames() ? in_depth : 1, 2, 2}, in_depth);
  }

  const Config& config_;
  const JsonFields& json_;
  Graph& graph_;
  RmsNormBlocks blocks_;
};

/// Mean and deviation of each latent channel.
struct LatentStatistics {
  std::vector<double> mean, deviation;
};

/// Defaults of diffusers' classes.
LatentStatistics wan_statistics() {
  return {{-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508, 0.4134, -0.0715, 0.5517,
           -0.3632, -0.1922, -0.9497, 0.2503, -0.2921},
          {2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743, 3.2687, 2.1526, 2.8652, 1.5579,
           1.6382, 1.1253, 2.8251, 1.9160}};
}
LatentStatistics qwen_image_21_statistics() {
  return {
      {0.5126,  0.7721,  -0.0631, 1.3506,  -0.7855, -2.1025, -0.3458, 1.3722,  1.8873,  -1.7177, -0.6510,
       0.2732,  0.7562,  -0.6163, -1.0277, 3.8363,  2.0210,  0.0472,  0.9320,  2.0087,  2.4954,  -0.1391,
       -1.4249, 1.8464,  -0.5236, 1.2826,  3.7046,  -1.3035, 2.7286,  -1.4518, -1.9036, -1.9955, -0.0342,
       -1.0265, -0.7636, 3.0555,  0.0746,  -3.0751, -0.1076, 1.7376,  -1.0914, -1.9435, -0.2784, -1.3680,
       0.4809,  -0.4433, 0.3764,  0.5729,  -2.0595, 1.0960,  -1.3260, -2.0211, -5.0179, 0.5275,  4.0162,
       1.8505,  0.3026,  1.9373,  1.4937,  0.2632,  0.5547,  -1.7121, -0.1562, 0.0304},
      {3.2001, 3.2936, 3.4321, 3.0091, 3.1061, 4.0379, 4.0705, 3.7910, 3.0785, 3.6500, 3.9308, 3.0904, 2.8778,
       3.7675, 3.7320, 5.0756, 3.2864, 4.0397, 3.1317, 4.0443, 2.9249, 3.9454, 3.0988, 4.2489, 3.4896, 3.8513,
       3.9323, 3.4719, 3.7498, 4.2830, 3.5694, 4.2467, 3.9037, 3.2947, 5.0770, 3.5075, 3.2700, 3.4767, 2.8063,
       5.1125, 3.5327, 4.7833, 3.1286, 4.1819, 3.8527, 3.8312, 3.5605, 4.3875, 3.9624, 4.0168, 3.5643, 4.0550,
       5.5614, 4.2963, 4.4080, 3.4959, 3.8747, 3.7608, 3.5735, 3.1490, 3.7662, 3.6746, 3.4563, 3.8161}};
}

Model model_of(const JsonFields& json, const char* picture_channels, const LatentStatistics& statistics,
               const Config& defaults = {}) {
  const Config config = read_config(json, picture_channels, defaults);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = !config.of_pictures;
  Builder(config, json, model.graph).decoder();
  model.scaled_by_channel = true;
  model.latents_mean = channel_values(json, "latents_mean", statistics.mean);
  model.latents_std = channel_values(json, "latents_std", statistics.deviation);
  return model;
}

Graph encoder_of(const JsonFields& json, const Config& config) {
  Graph graph;
  Builder(config, json, graph).encoder();
  return graph;
}

/// Builds Wan 2.1's decoder, Wan 2.2's with `is_residual` and `patch_size`, or the upscaling one with
/// `pixel_shuffle`.
Model build_wan(const JsonFields& config) {
  return model_of(config, "out_channels", wan_statistics());
}

/// Wan 2.1's network and latent statistics. Only the key for output channels differs.
Model build_qwen_image(const JsonFields& config) {
  return model_of(config, "input_channels", wan_statistics());
}

/// Wan 2.2's network for pictures, with 2D kernels.
Config qwen_image_21_defaults() {
  return {.decoder_width = 144,
          .latent_channels = 64,
          .picture_channels = 4,
          .multiples = {1, 2, 4, 8, 8},
          .frames_downsampled = {false, true, true, true},
          .residual = true,
          .of_pictures = true};
}
Model build_qwen_image_21(const JsonFields& config) {
  return model_of(config, "out_channels", qwen_image_21_statistics(), qwen_image_21_defaults());
}

Graph wan_encoder(const JsonFields& json) {
  return encoder_of(json, read_encoder(json, "in_channels", "out_channels"));
}
Graph qwen_image_encoder(const JsonFields& json) {
  return encoder_of(json, read_encoder(json, "input_channels", "input_channels"));
}
Graph qwen_image_21_encoder(const JsonFields& json) {
  return encoder_of(json, read_encoder(json, "in_channels", "out_channels", qwen_image_21_defaults()));
}

// The defaults of diffusers' class.
constexpr const char* kQwenImage21 =
    R"({"_class_name": "AutoencoderKLQwenImage21", "base_dim": 96, "decoder_base_dim": 144, "z_dim": 64,
    "dim_mult": [1, 2, 4, 8, 8], "num_res_blocks": 2, "temperal_downsample": [false, true, true, true],
    "is_residual": true, "in_channels": 4, "out_channels": 4, "patch_size": null})";

// TI2V-5B's config, as diffusers' scripts/convert_wan_to_diffusers.py writes it.
constexpr const char* kWan22 =
    R"({"_class_name": "AutoencoderKLWan", "base_dim": 160, "decoder_base_dim": 256, "z_dim": 48,
    "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2, "temperal_downsample": [false, true, true],
    "is_residual": true, "in_channels": 12, "out_channels": 12, "patch_size": 2, "scale_factor_spatial": 16,
    "latents_mean": [-0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174, 0.1838, 0.1557, -0.1382,
                     0.0542, 0.2813, 0.0891, 0.1570, -0.0098, 0.0375, -0.1825, -0.2246, -0.1207, -0.0698,
                     0.5109, 0.2665, -0.2108, -0.2158, 0.2502, -0.2055, -0.0322, 0.1109, 0.1567, -0.0729,
                     0.0899, -0.2799, -0.1230, -0.0313, -0.1649, 0.0117, 0.0723, -0.2839, -0.2083,
                     -0.0520, 0.3748, 0.0152, 0.1957, 0.1433, -0.2944, 0.3573, -0.0548, -0.1681, -0.0667],
    "latents_std": [0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.4990, 0.4818, 0.5013, 0.8158, 1.0344,
                    0.5894, 1.0901, 0.6885, 0.6165, 0.8454, 0.4978, 0.5759, 0.3523, 0.7135, 0.6804,
                    0.5833, 1.4146, 0.8986, 0.5659, 0.7069, 0.5338, 0.4889, 0.4917, 0.4069, 0.4999,
                    0.6866, 0.4093, 0.5709, 0.6065, 0.6415, 0.4944, 0.5726, 1.2042, 0.5458, 1.6887,
                    0.3971, 1.0600, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, 0.7744]})";

/// Modules of residual blocks are numbered. So are blocks and upsamplers: through all resolutions or, as in
/// Wan 2.2, within each.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  const RenamedStarts residual{{"norm1.", "residual.0."},
                               {"conv1.", "residual.2."},
                               {"norm2.", "residual.3."},
                               {"conv2.", "residual.6."},
                               {"conv_shortcut.", "shortcut."}};
  const bool nested =
      stored.contains(stored.contains(kDecoderMark) ? "decoder.upsamples.0.upsamples.0.residual.0.gamma"
                                                    : "encoder.downsamples.0.downsamples.0.residual.0.gamma");
  std::vector<Renaming> all{{"encoder.down_blocks.#.", "encoder.downsamples.{a}.", residual},
                            {"decoder.up_blocks.#.upsamplers.0.", "decoder.upsamples.{4a+3}."},
                            {"decoder.up_blocks.#.resnets.#.", "decoder.upsamples.{4a+b}.", residual}};
  if (nested) {
    all = {{"encoder.down_blocks.#.downsampler.", "encoder.downsamples.{a}.downsamples.2."},
           {"encoder.down_blocks.#.resnets.#.", "encoder.downsamples.{a}.downsamples.{b}.", residual},
           {"decoder.up_blocks.#.upsampler.", "decoder.upsamples.{a}.upsamples.3."},
           {"decoder.up_blocks.#.resnets.#.", "decoder.upsamples.{a}.upsamples.{b}.", residual}};
  }
  all.insert(all.end(), {{"@mid_block.resnets.#.", "@middle.{2a}.", residual},
                         {"@mid_block.attentions.0.", "@middle.1."},
                         {"@conv_in.", "@conv1."},
                         {"@norm_out.", "@head.0."},
                         {"@conv_out.", "@head.2."},
                         {"post_quant_conv.", "conv2."},
                         {"quant_conv.", "conv1."}});
  return all;
}

}  // namespace

// diffusers 0.42.1: models/autoencoders/autoencoder_kl_wan.py, autoencoder_kl_qwenimage.py and
// autoencoder_kl_qwenimage21.py.
std::vector<Family> wan_families() {
  const std::string causal =
      R"("base_dim": 96, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2,
         "temperal_downsample": [false, true, true]})";
  const std::string wan = R"({"_class_name": "AutoencoderKLWan", )";
  const LatentPacking qwen_image{.pipelines = "Qwen-Image "};
  return {{.class_name = "AutoencoderKLWan",
           .source_file = "autoencoder_kl_wan.py",
           .frame_by_frame = true,
           .eager_network = EagerNetwork::wan,
           .original_names = {.key = "wan",
                              .decoder_mark = kDecoderMark,
                              .encoder_mark = "encoder.middle.0.residual.0.gamma",
                              .renamings = renamings},
           .built_ins = {{"wan2.1", wan + causal},
                         {"wan2.1-upscale2x", wan + R"("out_channels": 12, "pixel_shuffle": 2, )" + causal},
                         {"wan2.2", kWan22}},
           .build = build_wan,
           .encoder = wan_encoder},
          {.class_name = "AutoencoderKLQwenImage",
           .source_file = "autoencoder_kl_qwenimage.py",
           .frame_by_frame = true,
           .eager_network = EagerNetwork::wan,
           .packing = qwen_image,
           .built_ins = {{"qwen-image", R"({"_class_name": "AutoencoderKLQwenImage", )" + causal}},
           .build = build_qwen_image,
           .encoder = qwen_image_encoder},
          {.class_name = "AutoencoderKLQwenImage21",
           .source_file = "autoencoder_kl_qwenimage21.py",
           .packing = qwen_image,
           .original_names = {.key = "qwen_image_21"},
           .built_ins = {{"qwen-image-2.1", kQwenImage21}},
           .build = build_qwen_image_21,
           .encoder = qwen_image_21_encoder}};
}

}  // namespace headroom
