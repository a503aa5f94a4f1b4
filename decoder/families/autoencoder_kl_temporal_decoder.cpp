#include "decoder/families/families.h"

#include "decoder/families/group_norm_blocks.h"
#include "decoder/families/group_norm_widths.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int32_t kGroups = 32;
constexpr double kEpsilonOverFrames = 1e-5;  ///< of norms over all frames
constexpr int64_t kMostLayers = 64;
constexpr double kScalingFactor = 0.18215;

/// Config with the defaults of diffusers' class.
struct Config {
  int64_t latent_channels = 4;
  int64_t out_channels = 3;
  std::vector<int64_t> widths{64};  ///< from the finest resolution
  int64_t layers = 1;
};

Config read_config(const JsonFields& json) {
  Config config;
  config.latent_channels = json.integer_or("latent_channels", 1, 1024, config.latent_channels);
  config.out_channels = json.integer_or("out_channels", 1, 1024, config.out_channels);
  config.layers = json.integer_or("layers_per_block", 1, kMostLayers, config.layers);
  if (json.has("block_out_channels")) config.widths = read_widths(json["block_out_channels"], kGroups);
  return config;
}

/// Adds the decoder's blocks to a graph. Spatial blocks are AutoencoderKL's, frame by frame. Temporal ones
/// have kernels over the time alone, zeros at both ends of the clip, and norms over all frames.
class Builder {
 public:
  Builder(const Config& config, Graph& graph)
      : config_(config), graph_(graph), blocks_(graph, kGroups, Activation::silu, {}, true) {}

  void decoder() {
    const size_t stages = config_.widths.size();
    TensorId x = graph_.add_latent(config_.latent_channels);
    x = blocks_.conv("decoder.conv_in", x, config_.widths.back(), 3);
    // diffusers pairs each attention with the residual block after it. There is one attention, so it runs at
    // most two of the middle blocks that it has.
    x = block("decoder.mid_block.resnets.0", x, config_.widths.back());
    if (config_.layers > 1) {
      x = blocks_.attention("decoder.mid_block.attentions.0", x, {});
      x = block("decoder.mid_block.resnets.1", x, config_.widths.back());
    }
    for (size_t stage = 0; stage < stages; ++stage) {
      const std::string name = "decoder.up_blocks." + std::to_string(stage);
      const int64_t width = config_.widths[stages - 1 - stage];
      for (int64_t layer = 0; layer <= config_.layers; ++layer)
        x = block(name + ".resnets." + std::to_string(layer), x, width);
      if (stage + 1 < stages) x = blocks_.upsampled_conv(name + ".upsamplers.0.conv", x, width);
    }
    x = blocks_.normalised("decoder.conv_norm_out", x, Activation::silu);
    x = blocks_.conv("decoder.conv_out", x, config_.out_channels, 3);
    graph_.set_output(over_frames("decoder.time_conv_out", x));
  }

 private:
  TensorId over_frames(const std::string& name, TensorId x, const std::string& mix_factor = "") {
    return graph_.conv(
        name, x, graph_.tensor(x).channels, {3, 1, 1},
        {.over_frames = true, .frames_ahead = 1, .mix_factor = mix_factor, .mixes_input = false});
  }

  TensorId normalised_over_frames(const std::string& name, TensorId x) {
    const TensorId statistics = graph_.statistics(name + ".statistics", x, kGroups, kEpsilonOverFrames);
    return graph_.norm(name, x, statistics, Activation::silu);
  }

  /// A spatial residual block, then a temporal one. With f = sigmoid(mix_factor), the result is (1 - f) * x +
  /// f * (x + h), where x is the spatial block's result and x + h the temporal one's. That is x + f * h.
  TensorId block(const std::string& name, TensorId x, int64_t channels) {
    x = blocks_.resnet(name + ".spatial_res_block", x, channels);
    const std::string temporal = name + ".temporal_res_block";
    TensorId h = normalised_over_frames(temporal + ".norm1", x);
    h = over_frames(temporal + ".conv1", h);
    h = normalised_over_frames(temporal + ".norm2", h);
    h = over_frames(temporal + ".conv2", h, name + ".time_mixer.mix_factor");
    return graph_.add(temporal, h, x);
  }

  const Config& config_;
  Graph& graph_;
  GroupNormBlocks blocks_;
};

Model build(const JsonFields& json) {
  const Config config = read_config(json);
  Model model;
  model.latent_channels = config.latent_channels;
  model.decodes_clips = true;
  Builder(config, model.graph).decoder();
  model.scaling_factor = scaling_factor(json, kScalingFactor);
  // force_upcast is for the encoder: diffusers' pipeline decodes in the dtype that it was loaded in.
  return model;
}

/// Stable Diffusion's names, with the temporal block's under time_stack.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  const std::string level = "{" + std::to_string(count_of(stored, "decoder.up.#.") - 1) + "-a}";
  const RenamedStarts block{{"spatial_res_block.conv_shortcut.", "nin_shortcut."},
                            {"spatial_res_block.", ""},
                            {"temporal_res_block.norm1.", "time_stack.in_layers.0."},
                            {"temporal_res_block.conv1.", "time_stack.in_layers.2."},
                            {"temporal_res_block.norm2.", "time_stack.out_layers.0."},
                            {"temporal_res_block.conv2.", "time_stack.out_layers.3."},
                            {"time_mixer.", ""}};
  std::vector<Renaming> all{{"decoder.mid_block.resnets.#.", "decoder.mid.block_{a+1}.", block},
                            {"decoder.up_blocks.#.resnets.#.", "decoder.up." + level + ".block.{b}.", block},
                            {"decoder.time_conv_out.", "decoder.conv_out.time_mix_conv."}};
  for (Renaming& renaming : stable_diffusion_renamings(level)) all.push_back(std::move(renaming));
  return all;
}

}  // namespace

// Stable Video Diffusion's, diffusers 0.42.1: models/autoencoders/autoencoder_kl_temporal_decoder.py,
// models/unets/unet_3d_blocks.py and models/resnet.py.
std::vector<Family> temporal_decoder_families() {
  return {{.class_name = "AutoencoderKLTemporalDecoder",
           .source_file = "autoencoder_kl_temporal_decoder.py",
           .frames_in_batch = true,
           .original_names = {.key = "svd",
                              .decoder_mark = "decoder.mid.block_1.mix_factor",
                              .first = true,
                              .renamings = renamings},
           .built_ins =
               {{"svd",
                 R"({"_class_name": "AutoencoderKLTemporalDecoder", "out_channels": 3, "latent_channels": 4,
           "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "scaling_factor": 0.18215,
           "force_upcast": true, "sample_size": 768})",
                 {},
                 {"svd-xt", "stable-video-diffusion-img2vid", "stable-video-diffusion-img2vid-xt"}}},
           .build = build}};
}

}  // namespace headroom
