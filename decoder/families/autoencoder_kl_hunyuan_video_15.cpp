#include "decoder/families/families.h"

#include "decoder/families/latent_channels.h"
#include "decoder/families/rms_norm_blocks.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
constexpr int32_t kPixels = 2;  ///< factor of an upsampling along each side
constexpr int32_t kFrames = 2;  ///< factor along the time for frames after the first, in stages that double
                                ///< frames
/// Config key of Headroom's own. ComfyUI's port attends to all frames, diffusers' up to each frame.
constexpr const char* kAttentionFrames = "attention_frames";

/// The refiner decodes every frame of a clip as the video decoder decodes the first, but each frame attends
/// to all.
enum class Variant { video, image_refiner };

/// Config with the defaults of diffusers' classes.
struct Config {
  Variant variant = Variant::video;
  int64_t latent_channels = 32;
  int64_t picture_channels = 3;
  std::vector<int64_t> widths{128, 256, 512, 1024, 1024};  ///< from the finest resolution
  int64_t layers = 2;
  int64_t pixel_compression = 16;  ///< pixels along each side of a latent position
  int64_t frame_compression = 4;   ///< frames of each latent frame after the first
  bool match_channels = true;      ///< upsamplings and downsamplings produce the next resolution's channels
  AttentionFrames attention = AttentionFrames::up_to_own;

  /// Channels at a stage. Stages count from the coarsest.
  int64_t width(size_t stage) const { return widths[widths.size() - 1 - stage]; }
  /// Channels of the stage's upsampling result.
  int64_t upsampled_width(size_t stage) const { return width(match_channels ? stage + 1 : stage); }
  /// True if the stage's upsampling has channels for two frames. The refiner makes one frame of them.
  bool doubles_frames(size_t stage) const { return (int64_t{1} << stage) < frame_compression; }
  /// True if the stage doubles rows and columns. Stages that double frames do so too.
  bool upsamples(size_t stage) const {
    return (int64_t{1} << stage) < pixel_compression || doubles_frames(stage);
  }
};

/// Checks that shortcuts can repeat their channels to the outputs of the first convolution and of each
/// upsampling.
void check_widths(const Config& config, const JsonFields& json) {
  const auto fail = [&](const std::string& what) { json.fail("block_out_channels: " + what); };
  if (config.width(0) % config.latent_channels != 0)
    fail("expected the last to be a multiple of latent_channels = " + std::to_string(config.latent_channels) +
         ", found " + std::to_string(config.width(0)));
  for (size_t stage = 0; stage < config.widths.size(); ++stage) {
    if (!config.upsamples(stage)) continue;
    if (config.match_channels && stage + 1 == config.widths.size())
      fail("expected more widths than there are upsamplings, found " + std::to_string(config.widths.size()));
    const int64_t from = config.width(stage), to = config.upsampled_width(stage);
    const bool frames = config.doubles_frames(stage);
    // The first frame uses half as many repeated channels as later frames, so the number of repetitions must
    // be even.
    const int64_t values = (frames ? kFrames : 1) * kPixels * kPixels;
    const bool cut = !frames || (from % values == 0 && values * to / from % kFrames == 0);
    if (values * to % from != 0 || !cut)
      fail(std::to_string(from) + " channels cannot be repeated into " + std::to_string(values) + " times " +
           std::to_string(to));
  }
}

AttentionFrames attention_of(const JsonFields& field) {
  const std::string frames = field.text();
  if (frames == "all") return AttentionFrames::all;
  if (frames == "up_to_own") return AttentionFrames::up_to_own;
  field.fail("expected all or up_to_own, found '" + frames + "'");
}

Config read_config(const JsonFields& json, Variant variant) {
  Config config{.variant = variant};
  if (variant == Variant::image_refiner) config.attention = AttentionFrames::all;
  const auto integer = [&](const char* key, int64_t least, int64_t most, int64_t& value) {
    if (json.has(key)) value = json[key].integer(least, most);
  };
  integer("latent_channels", 1, 1024, config.latent_channels);
  integer("out_channels", 1, 1024, config.picture_channels);
  integer("layers_per_block", 0, kMostLayers, config.layers);
  integer("spatial_compression_ratio", 1, 1 << kMostStages, config.pixel_compression);
  integer("temporal_compression_ratio", 1, 1 << kMostStages, config.frame_compression);
  if (json.has("block_out_channels")) {
    const JsonFields widths = json["block_out_channels"];
    config.widths.clear();
    for (size_t i = 0; i < widths.size(kMostStages); ++i)
      config.widths.push_back(widths[i].integer(1, kMostChannels));
    if (config.widths.empty()) widths.fail("expected at least one width");
  }
  if (json.has("upsample_match_channel")) config.match_channels = json["upsample_match_channel"].boolean();
  if (json.has(kAttentionFrames)) config.attention = attention_of(json[kAttentionFrames]);
  check_widths(config, json);
  return config;
}

/// log2 of a power of two, rounded up.
size_t halvings(int64_t factor) {
  size_t count = 0;
  while ((int64_t{1} << count) < factor) ++count;
  return count;
}

/// One resolution of the encoder, from the finest.
struct EncoderStage {
  int64_t width = 0;
  int64_t downsampled_width = 0;  ///< 0: the stage does not downsample
  bool halves_frames = false;
};

std::vector<EncoderStage> encoder_stages(const Config& config, const JsonFields& json) {
  const size_t pixels = halvings(config.pixel_compression);
  const size_t first = halvings(config.pixel_compression / config.frame_compression);
  std::vector<EncoderStage> stages;
  for (size_t i = 0; i < config.widths.size(); ++i) {
    EncoderStage stage{config.widths[i]};
    if (i < pixels) {
      if (config.match_channels && i + 1 == config.widths.size())
        json.fail("block_out_channels: expected more widths than there are downsamplings");
      stage.downsampled_width = config.widths[config.match_channels ? i + 1 : i];
      stage.halves_frames = i >= first;
      const int64_t values = (stage.halves_frames ? kFrames : 1) * kPixels * kPixels;
      if (values * stage.width % stage.downsampled_width != 0 || stage.downsampled_width % values != 0)
        json.fail("block_out_channels: " + std::to_string(values) + " times " + std::to_string(stage.width) +
                  " channels cannot be averaged to " + std::to_string(stage.downsampled_width));
    }
    stages.push_back(stage);
  }
  if (stages.back().width % (2 * config.latent_channels) != 0)
    json.fail("block_out_channels: expected the last to be a multiple of twice latent_channels");
  return stages;
}

/// Adds the blocks of the decoder or the encoder to a graph. Every convolution is a submodule named `conv`.
/// Convolutions replicate the picture's edges and the first frame.
class Builder {
 public:
  Builder(const Config& config, Graph& graph)
      : config_(config), graph_(graph), blocks_(graph, {".conv", convolutions()}) {}

  void decoder() {
    const int64_t widest = config_.width(0);
    TensorId x = graph_.add_latent(config_.latent_channels);
    ConvolutionTraits with_latent = convolutions();
    with_latent.shortcut = true;
    x = graph_.conv("decoder.conv_in.conv", x, widest, {3, 3, 3}, with_latent);
    x = mid_block("decoder", x);
    for (size_t stage = 0; stage < config_.widths.size(); ++stage) {
      const std::string name = "decoder.up_blocks." + std::to_string(stage);
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, config_.width(stage));
      if (!config_.upsamples(stage)) continue;
      const int64_t channels = config_.upsampled_width(stage);
      x = config_.doubles_frames(stage) ? upsample_with_frames(name + ".upsamplers.0", x, channels)
                                        : upsample(name + ".upsamplers.0", x, channels);
    }
    x = blocks_.norm("decoder.norm_out", x, Activation::silu);
    graph_.set_output(blocks_.conv("decoder.conv_out", x, config_.picture_channels, 3));
  }

  void encoder(const std::vector<EncoderStage>& stages) {
    Axes<int32_t> scale{1, 1, 1};
    for (const EncoderStage& stage : stages) {
      if (stage.downsampled_width == 0) continue;
      scale = {stage.halves_frames ? kFrames * scale.t : scale.t, kPixels * scale.y, kPixels * scale.x};
    }
    TensorId x = graph_.add_picture(config_.picture_channels, scale);
    x = blocks_.conv("encoder.conv_in", x, stages.front().width, 3);
    for (size_t i = 0; i < stages.size(); ++i) {
      const std::string name = "encoder.down_blocks." + std::to_string(i);
      for (int64_t layer = 0; layer < config_.layers; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, stages[i].width);
      if (stages[i].downsampled_width > 0) x = downsample(name + ".downsamplers.0", x, stages[i]);
    }
    x = mid_block("encoder", x);
    const int64_t moments = 2 * config_.latent_channels;
    const TensorId shortcut = graph_.space_to_depth("encoder.shortcut", x, moments, {1, 1, 1});
    x = blocks_.conv("encoder.conv_out", blocks_.norm("encoder.norm_out", x, Activation::silu), moments, 3);
    graph_.set_output(graph_.add("encoder.sum", x, shortcut));
  }

 private:
  TensorId mid_block(const std::string& side, TensorId x) {
    const int64_t channels = graph_.tensor(x).channels;
    x = blocks_.resnet(side + ".mid_block.resnets.0", x, channels);
    x = attention(side + ".mid_block.attentions.0", x);
    return blocks_.resnet(side + ".mid_block.resnets.1", x, channels);
  }

  /// A convolution, then space to depth, and a shortcut of means.
  TensorId downsample(const std::string& name, TensorId x, const EncoderStage& stage) {
    const int32_t frames = stage.halves_frames ? kFrames : 1;
    const Axes<int32_t> stride{frames, kPixels, kPixels};
    const int64_t channels = stage.downsampled_width;
    const auto folded = [&](const char* what, TensorId from, FoldFirst first) {
      return graph_.space_to_depth(name + what, from, channels, stride,
                                   {FoldOrder::frame_row_column_channel, frames, first});
    };
    const TensorId h = blocks_.conv(name + ".conv", x, channels / (frames * kPixels * kPixels), 3);
    const TensorId made = folded(".space_to_depth", h, FoldFirst::twice);
    return graph_.add_cut_point(graph_.add(name, made, folded(".shortcut", x, FoldFirst::alone)));
  }

  static ConvolutionTraits convolutions() {
    return {.over_frames = true, .before_first = BeforeFirst::first_frame, .edges = Edges::replicate};
  }

  TensorId attention(const std::string& name, TensorId x) {
    const TensorId normed = blocks_.norm(name + ".norm", x, Activation::none);
    AttentionModules modules;
    modules.q.module = name + ".to_q";
    modules.k.module = name + ".to_k";
    modules.v.module = name + ".to_v";
    modules.out = name + ".proj_out";
    modules.over_frames = true;
    modules.frames = config_.attention;
    return graph_.add(name, graph_.self_attention(name, normed, modules), x);
  }

  /// A convolution with a shortcut of repeated input channels, then depth to space.
  TensorId upsample(const std::string& name, TensorId x, int64_t channels) {
    ConvolutionTraits traits = convolutions();
    traits.shortcut = true;
    traits.stored_side = kPixels;
    traits.stored_order = StoredOrder::row_column_channel;
    x = graph_.conv(name + ".conv.conv", x, kPixels * kPixels * channels, {3, 3, 3}, traits);
    return graph_.depth_to_space(name + ".depth_to_space", graph_.add_cut_point(x), {1, kPixels, kPixels});
  }

  /// upsample() with frames. The shortcut repeats the first frame's channels differently from those of later
  /// frames, so it cannot be part of the convolution. The refiner treats every frame as the first.
  TensorId upsample_with_frames(const std::string& name, TensorId x, int64_t channels) {
    const int32_t frames = config_.variant == Variant::video ? kFrames : 1;
    const auto unfolded = [&](const char* what, TensorId from) {
      return graph_.repeated_depth_to_space(name + what, from, channels, {frames, kPixels, kPixels}, kFrames,
                                            DepthOrder::pixel_first);
    };
    const TensorId h = blocks_.conv(name + ".conv", x, kFrames * kPixels * kPixels * channels, 3);
    const TensorId made = unfolded(".depth_to_space", h), shortcut = unfolded(".shortcut", x);
    return graph_.add_cut_point(graph_.add(name, made, shortcut));
  }

  const Config& config_;
  Graph& graph_;
  RmsNormBlocks blocks_;
};

template <Variant variant>
Model build(const JsonFields& json) {
  const Config config = read_config(json, variant);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, 1.03682);
  return model;
}

Graph encoder(const JsonFields& json) {
  Config config = read_config(json, Variant::video);
  if (json.has("in_channels")) config.picture_channels = json["in_channels"].integer(1, 1024);
  if (json.has("downsample_match_channel"))
    config.match_channels = json["downsample_match_channel"].boolean();
  Graph graph;
  Builder(config, graph).encoder(encoder_stages(config, json));
  return graph;
}

/// The config of both published models. Only the class differs.
std::string published_config(const std::string& class_name) {
  return R"({"_class_name": ")" + class_name + R"(", "out_channels": 3, "latent_channels": 32,
      "block_out_channels": [128, 256, 512, 1024, 1024], "layers_per_block": 2, "spatial_compression_ratio": 16,
      "temporal_compression_ratio": 4, "upsample_match_channel": true, "scaling_factor": 1.03682})";
}

/// Stable Diffusion's names with resolutions from the coarsest.
std::vector<Renaming> renamings(const CheckpointNames&) {
  return stable_diffusion_renamings("{a}");
}

}  // namespace

// HunyuanVideo 1.5's and that of HunyuanImage 2.1's refiner, diffusers 0.42.1:
// models/autoencoders/autoencoder_kl_hunyuanvideo15.py and autoencoder_kl_hunyuanimage_refiner.py.
std::vector<Family> hunyuan_video_15_families() {
  return {{.class_name = "AutoencoderKLHunyuanVideo15",
           .source_file = "autoencoder_kl_hunyuanvideo15.py",
           .original_names = {.key = "hunyuan_video_15",
                              .decoder_mark = "decoder.mid.block_1.norm1.gamma",
                              .encoder_mark = "encoder.mid.block_1.norm1.gamma",
                              .renamings = renamings},
           .built_ins = {{"hunyuan-video-1.5", published_config("AutoencoderKLHunyuanVideo15")}},
           .build = build<Variant::video>,
           .encoder = encoder},
          {.class_name = "AutoencoderKLHunyuanImageRefiner",
           .source_file = "autoencoder_kl_hunyuanimage_refiner.py",
           .built_ins = {{"hunyuan-image-refiner", published_config("AutoencoderKLHunyuanImageRefiner")}},
           .build = build<Variant::image_refiner>}};
}

}  // namespace headroom
