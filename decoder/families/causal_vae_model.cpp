#include "decoder/families/families.h"

#include <algorithm>

namespace headroom {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr int32_t kGroups = 32;
constexpr int64_t kMostChannels = 1 << 14;
constexpr int64_t kMostLayers = 64;
constexpr size_t kMostStages = 8;
constexpr int64_t kMostDoublings = 8;
/// The decoder's pipelines divide latents by this factor. No config has it.
constexpr double kScalingFactor = 0.18215;

enum class FramesUpsampling { none, interpolated, mixed };

/// One resolution, counted from the finest.
struct Stage {
  int64_t multiple = 1;           ///< channels as a multiple of Config::width
  bool by_frame = false;          ///< 2D residual blocks instead of causal 3D blocks
  bool upsamples = false;         ///< upsamples rows and columns after its blocks
  bool plain_upsampling = false;  ///< the upsampling's convolution is 2D
  bool interpolates = false;      ///< linear upsampling instead of nearest
  bool with_frames = false;       ///< the linear upsampling also doubles frames
  FramesUpsampling frames = FramesUpsampling::none;
};

enum class Attention { interleaved, by_frame, of_pictures };

struct Config {
  int64_t width = 128;
  int64_t latent_channels = 4;  ///< of the latent
  int64_t inner_channels = 4;   ///< channels after post_quant_conv
  int64_t layers = 2;
  int64_t resolution = 256;
  bool post_quant_conv = true;
  bool plain_post_quant_conv = false;
  bool plain_conv_in = false;
  bool plain_conv_out = false;
  bool mid_by_frame = false;
  Attention attention = Attention::interleaved;
  std::vector<int64_t> attention_resolutions{};
  std::vector<Stage> stages;
};

/// Matches a field against class names, spelled as in the published code.
template <typename T>
T choice(const JsonFields& field, std::initializer_list<std::pair<const char*, T>> known) {
  const std::string text = field.text();
  std::string names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + (*name == '\0' ? std::string("\"\"") : std::string(name));
  }
  field.fail("'" + text + "' is not supported; expected one of " + names);
}

bool is_plain_convolution(const JsonFields& json, const char* key) {
  return json.has(key) && choice<bool>(json[key], {{"CausalConv3d", false}, {"Conv2d", true}});
}

/// Calls read(field, stage) for each element of a list. The list must have one element per stage.
template <typename F>
void for_stages(const JsonFields& json, const char* key, std::vector<Stage>& stages, const F& read) {
  if (!json.has(key)) return;
  const JsonFields list = json[key];
  if (list.size(kMostStages) != stages.size())
    list.fail("expected as many as hidden_size_mult has, " + std::to_string(stages.size()));
  for (size_t i = 0; i < stages.size(); ++i) read(list[i], stages[i]);
}

std::vector<Stage> default_stages() {
  std::vector<Stage> stages(4);
  const int64_t multiples[] = {1, 2, 4, 4};
  for (size_t i = 0; i < stages.size(); ++i) {
    stages[i].multiple = multiples[i];
    stages[i].upsamples = i > 0;
    if (i > 1) stages[i].frames = FramesUpsampling::interpolated;
  }
  return stages;
}

std::vector<Stage> read_stages(const JsonFields& json) {
  std::vector<Stage> stages = default_stages();
  if (json.has("hidden_size_mult")) {
    const JsonFields list = json["hidden_size_mult"];
    stages.resize(list.size(kMostStages));
    if (stages.empty()) list.fail("expected at least one multiple");
    for (size_t i = 0; i < stages.size(); ++i) stages[i].multiple = list[i].integer(1, 64);
  }
  for (const char* key : {"decoder_spatial_upsample", "decoder_temporal_upsample", "decoder_resnet_blocks"}) {
    if (!json.has(key) && stages.size() != 4)
      json.fail(std::string(key) + ": missing; required unless hidden_size_mult has 4 multiples");
  }
  for_stages(json, "decoder_resnet_blocks", stages, [](const JsonFields& field, Stage& stage) {
    stage.by_frame = choice<bool>(field, {{"ResnetBlock3D", false}, {"ResnetBlock2D", true}});
  });
  for_stages(json, "decoder_spatial_upsample", stages, [](const JsonFields& field, Stage& stage) {
    const int kind = choice<int>(field, {{"", 0},
                                         {"SpatialUpsample2x", 1},
                                         {"Upsample", 2},
                                         {"Spatial2x3DUpsample", 3},
                                         {"Spatial2xTime2x3DUpsample", 4}});
    stage.upsamples = kind > 0;
    stage.plain_upsampling = kind == 2;
    stage.interpolates = kind >= 3;
    stage.with_frames = kind == 4;
  });
  for_stages(json, "decoder_temporal_upsample", stages, [](const JsonFields& field, Stage& stage) {
    stage.frames = choice<FramesUpsampling>(field, {{"", FramesUpsampling::none},
                                                    {"TimeUpsample2x", FramesUpsampling::interpolated},
                                                    {"TimeUpsampleRes2x", FramesUpsampling::mixed}});
  });
  int64_t doublings = 0;
  for (const Stage& stage : stages)
    doublings += (stage.with_frames ? 1 : 0) + (stage.frames != FramesUpsampling::none ? 1 : 0);
  if (doublings > kMostDoublings)
    json.fail("decoder_temporal_upsample: expected at most " + std::to_string(kMostDoublings) +
              " doublings of the frames, found " + std::to_string(doublings));
  return stages;
}

Config read_config(const JsonFields& json) {
  Config config;
  const auto integer = [&](const char* key, int64_t most, int64_t otherwise) {
    return json.has(key) && !json[key].is_null() ? json[key].integer(1, most) : otherwise;
  };
  config.width = integer("hidden_size", kMostChannels, config.width);
  if (config.width % kGroups != 0)
    json["hidden_size"].fail("expected a multiple of the norms' 32 groups, found " +
                             std::to_string(config.width));
  config.inner_channels = integer("z_channels", 1024, config.inner_channels);
  config.layers = integer("num_res_blocks", kMostLayers, config.layers);
  config.resolution = integer("resolution", 1 << 16, config.resolution);
  config.post_quant_conv = !json.has("use_quant_layer") || json["use_quant_layer"].boolean();
  config.latent_channels =
      config.post_quant_conv ? integer("embed_dim", 1024, config.latent_channels) : config.inner_channels;
  config.plain_post_quant_conv = is_plain_convolution(json, "q_conv");
  config.plain_conv_in = is_plain_convolution(json, "decoder_conv_in");
  config.plain_conv_out = is_plain_convolution(json, "decoder_conv_out");
  if (json.has("decoder_mid_resnet")) {
    config.mid_by_frame =
        choice<bool>(json["decoder_mid_resnet"], {{"ResnetBlock3D", false}, {"ResnetBlock2D", true}});
  }
  if (json.has("decoder_attention")) {
    config.attention = choice<Attention>(json["decoder_attention"], {{"AttnBlock3D", Attention::interleaved},
                                                                     {"AttnBlock3DFix", Attention::by_frame},
                                                                     {"AttnBlock", Attention::of_pictures}});
  }
  if (json.has("attn_resolutions")) {
    const JsonFields list = json["attn_resolutions"];
    for (size_t i = 0; i < list.size(kMostStages); ++i)
      config.attention_resolutions.push_back(list[i].integer(1, 1 << 16));
  }
  config.stages = read_stages(json);
  return config;
}

/// Adds the decoder's blocks to a graph. A 3D convolution is a submodule named `conv` and repeats the first
/// frame before the beginning. A 2D convolution is a direct module.
class Builder {
 public:
  Builder(const Config& config, Graph& graph) : config_(config), graph_(graph) {}

  void decoder() {
    TensorId x = graph_.add_latent(config_.latent_channels);
    if (config_.post_quant_conv)
      x = conv("post_quant_conv", x, config_.inner_channels, 1, config_.plain_post_quant_conv);
    const int64_t widest = config_.width * config_.stages.back().multiple;
    x = conv("decoder.conv_in", x, widest, 3, config_.plain_conv_in);
    x = resnet("decoder.mid.block_1", x, widest, config_.mid_by_frame);
    x = attention("decoder.mid.attn_1", x);
    x = resnet("decoder.mid.block_2", x, widest, config_.mid_by_frame);
    int64_t resolution = config_.resolution >> (config_.stages.size() - 1);
    for (size_t i = config_.stages.size(); i-- > 0;) {
      const Stage& stage = config_.stages[i];
      const std::string name = "decoder.up." + std::to_string(i);
      const std::vector<int64_t>& attended = config_.attention_resolutions;
      const bool attends = std::find(attended.begin(), attended.end(), resolution) != attended.end();
      for (int64_t layer = 0; layer <= config_.layers; ++layer) {
        const std::string number = std::to_string(layer);
        x = resnet(name + ".block." + number, x, config_.width * stage.multiple, stage.by_frame);
        if (attends) x = attention(name + ".attn." + number, x);
      }
      if (stage.upsamples) resolution *= 2;
      x = upsample(name, x, stage);
    }
    x = normalised("decoder.norm_out", x, false, Activation::silu);
    graph_.set_output(conv("decoder.conv_out", x, kPictureChannels, 3, config_.plain_conv_out));
  }

 private:
  static constexpr int64_t kPictureChannels = 3;

  TensorId conv(const std::string& name, TensorId x, int64_t channels, int32_t kernel, bool of_pictures) {
    if (of_pictures) return graph_.conv(name, x, channels, {1, kernel, kernel});
    return graph_.conv(name + ".conv", x, channels, {kernel, kernel, kernel},
                       {.over_frames = true, .before_first = BeforeFirst::first_frame});
  }

  TensorId normalised(const std::string& name, TensorId x, bool by_frame, Activation activation) {
    const TensorId statistics = graph_.statistics(name + ".statistics", x, kGroups, kEpsilon, by_frame);
    return graph_.norm(name, x, statistics, activation);
  }

  TensorId resnet(const std::string& name, TensorId x, int64_t channels, bool by_frame) {
    TensorId h = normalised(name + ".norm1", x, by_frame, Activation::silu);
    h = conv(name + ".conv1", h, channels, 3, by_frame);
    h = normalised(name + ".norm2", h, by_frame, Activation::silu);
    h = conv(name + ".conv2", h, channels, 3, by_frame);
    const bool same = graph_.tensor(x).channels == channels;
    return graph_.add(name, h, same ? x : conv(name + ".nin_shortcut", x, channels, 1, by_frame));
  }

  TensorId attention(const std::string& name, TensorId x) {
    const bool of_pictures = config_.attention == Attention::of_pictures;
    const TensorId normed = normalised(name + ".norm", x, of_pictures, Activation::none);
    if (config_.attention == Attention::interleaved)
      return graph_.add(name, interleaved_attention(name, normed), x);
    const auto module = [&](const char* of) { return name + of + (of_pictures ? "" : ".conv"); };
    AttentionModules modules;
    modules.q.module = module(".q");
    modules.k.module = module(".k");
    modules.v.module = module(".v");
    modules.out = module(".proj_out");
    modules.over_frames = !of_pictures;
    return graph_.add(name, graph_.self_attention(name, normed, modules), x);
  }

  TensorId interleaved_attention(const std::string& name, TensorId x) {
    const int64_t channels = graph_.tensor(x).channels;
    const TensorId q = graph_.conv(name + ".q.conv", x, channels, {1, 1, 1},
                                   {.over_frames = true, .scale = attention_scale(channels)});
    const TensorId k = conv(name + ".k", x, channels, 1, false);
    const TensorId v = conv(name + ".v", x, channels, 1, false);
    const TensorId mixed = graph_.attention(name + ".attention", q, k, v, AttentionFrames::interleaved);
    return conv(name + ".proj_out", mixed, channels, 1, false);
  }

  TensorId upsample(const std::string& name, TensorId x, const Stage& stage) {
    const int64_t channels = graph_.tensor(x).channels;
    if (stage.interpolates) {
      x = graph_.interpolate(name + ".upsample", x, {stage.with_frames ? 2 : 1, 2, 2});
      x = conv(name + ".upsample.conv", x, channels, 3, false);
    } else if (stage.upsamples && stage.plain_upsampling) {
      x = graph_.upsampled_conv(name + ".upsample.conv", x, channels);
    } else if (stage.upsamples) {
      x = graph_.upsampled_conv(name + ".upsample.conv.conv", x, channels, {.over_frames = true});
    }
    if (stage.frames == FramesUpsampling::none) return x;
    const std::string frames = name + ".time_upsample";
    x = graph_.interpolate(frames, x, {2, 1, 1});
    if (stage.frames == FramesUpsampling::interpolated) return x;
    return graph_.conv(frames + ".conv.conv", x, channels, {3, 3, 3},
                       {.over_frames = true,
                        .before_first = BeforeFirst::first_frame,
                        .mix_factor = frames + ".mix_factor"});
  }

  const Config& config_;
  Graph& graph_;
};

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  Builder(config, model.graph).decoder();
  model.scaling_factor = kScalingFactor;
  return model;
}

}  // namespace

// Open-Sora-Plan's, v1.0 to v1.2 (PKU-YuanGroup/Open-Sora-Plan at v1.2.0:
// opensora/models/causalvideovae/model/causal_vae/modeling_causalvae.py). The built-in config is what v1.0.0
// publishes (scripts/causalvae/release.json).
std::vector<Family> causal_vae_families() {
  return {{.class_name = "CausalVAEModel",
           .source_file = "modeling_causalvae.py",
           .in_diffusers = false,
           .built_ins =
               {{"open-sora-plan",
                 R"({"_class_name": "CausalVAEModel", "hidden_size": 128, "z_channels": 4, "embed_dim": 4,
           "hidden_size_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_resolutions": [], "resolution": 256,
           "q_conv": "CausalConv3d", "decoder_conv_in": "CausalConv3d", "decoder_conv_out": "CausalConv3d",
           "decoder_attention": "AttnBlock3D", "decoder_mid_resnet": "ResnetBlock3D",
           "decoder_resnet_blocks": ["ResnetBlock3D", "ResnetBlock3D", "ResnetBlock3D", "ResnetBlock3D"],
           "decoder_spatial_upsample": ["", "SpatialUpsample2x", "SpatialUpsample2x", "SpatialUpsample2x"],
           "decoder_temporal_upsample": ["", "", "TimeUpsample2x", "TimeUpsample2x"]})"}},
           .build = build}};
}

}  // namespace headroom
