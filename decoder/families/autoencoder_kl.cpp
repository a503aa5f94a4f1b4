#include "decoder/families/families.h"

#include <nlohmann/json.hpp>

#include "decoder/families/activation.h"
#include "decoder/families/group_norm_blocks.h"
#include "decoder/families/latent_channels.h"

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 16;
constexpr double kStableDiffusionScale = 0.18215;

struct Config {
  int64_t latent_channels = 4;
  int64_t picture_channels = 3;
  std::vector<int64_t> widths{64};
  int64_t layers_per_block = 1;
  int32_t groups = 32;
  Activation activation = Activation::silu;
  bool mid_attention = true;
  bool quant_conv = true;  ///< a 1×1 convolution of the latent
};

/// Config keys that differ between families, and between decoder and encoder.
struct Keys {
  const char* widths = "block_out_channels";
  const char* layers = "layers_per_block";
  const char* picture_channels = "out_channels";
  const char* quant_conv = "use_post_quant_conv";
  const char* block_types = "up_block_types";
  const char* block = "UpDecoderBlock2D";
};
constexpr Keys kEncoderKeys{.picture_channels = "in_channels",
                            .quant_conv = "use_quant_conv",
                            .block_types = "down_block_types",
                            .block = "DownEncoderBlock2D"};

/// Reads the config. `config` has the defaults for missing keys.
Config read_config(const JsonFields& json, Config config, const Keys& keys = {}) {
  const auto integer = [&](const char* key, int64_t most, int64_t otherwise) {
    return json.has(key) && !json[key].is_null() ? json[key].integer(1, most) : otherwise;
  };
  const auto flag = [&](const char* key, bool otherwise) {
    return json.has(key) ? json[key].boolean() : otherwise;
  };

  config.latent_channels = integer("latent_channels", 1024, config.latent_channels);
  config.picture_channels = integer(keys.picture_channels, 1024, config.picture_channels);
  config.layers_per_block = integer(keys.layers, 64, config.layers_per_block);
  config.groups = static_cast<int32_t>(integer("norm_num_groups", kMostChannels, config.groups));
  config.mid_attention = flag("mid_block_add_attention", config.mid_attention);
  config.quant_conv = flag(keys.quant_conv, config.quant_conv);
  if (json.has("act_fn")) config.activation = parse_activation(json["act_fn"]);

  size_t blocks = config.widths.size();
  if (json.has(keys.widths)) {
    const JsonFields widths = json[keys.widths];
    config.widths.clear();
    for (size_t i = 0; i < widths.size(8); ++i) {
      config.widths.push_back(widths[i].integer(1, kMostChannels));
      if (config.widths.back() % config.groups != 0) {
        widths[i].fail("expected a multiple of norm_num_groups = " + std::to_string(config.groups) +
                       ", found " + std::to_string(config.widths.back()));
      }
    }
    if (config.widths.empty()) widths.fail("expected at least one width");
  }
  if (json.has(keys.block_types)) {
    const JsonFields types = json[keys.block_types];
    blocks = types.size(8);
    for (size_t i = 0; i < blocks; ++i) {
      if (types[i].text() != keys.block) {
        types[i].fail("'" + types[i].text() + "' is not supported; expected " + keys.block);
      }
    }
  }
  if (blocks != config.widths.size()) {
    json.fail(std::string(keys.block_types) + ": expected as many as " + std::string(keys.widths) + " has, " +
              std::to_string(config.widths.size()) + ", found " + std::to_string(blocks));
  }
  return config;
}

/// Adds the blocks of the decoder or the encoder to a graph.
class Builder {
 public:
  Builder(const Config& config, Graph& graph)
      : config_(config), graph_(graph), blocks_(graph, config.groups, config.activation) {}

  void decoder() {
    TensorId x = graph_.add_latent(config_.latent_channels);
    if (config_.quant_conv) x = graph_.conv("post_quant_conv", x, config_.latent_channels, {1, 1, 1});
    x = graph_.conv("decoder.conv_in", x, config_.widths.back(), {1, 3, 3});
    x = mid_block("decoder", x);
    for (size_t block = 0; block < config_.widths.size(); ++block) {
      const std::string name = "decoder.up_blocks." + std::to_string(block);
      const int64_t width = config_.widths[config_.widths.size() - 1 - block];
      for (int64_t layer = 0; layer <= config_.layers_per_block; ++layer) {
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, width);
      }
      if (block + 1 < config_.widths.size()) x = graph_.upsampled_conv(name + ".upsamplers.0.conv", x, width);
    }
    x = blocks_.normalised("decoder.conv_norm_out", x, Activation::silu);
    graph_.set_output(graph_.conv("decoder.conv_out", x, config_.picture_channels, {1, 3, 3}));
  }

  void encoder() {
    const size_t blocks = config_.widths.size();
    const auto scale = int32_t{1} << (blocks - 1);
    TensorId x = graph_.add_picture(config_.picture_channels, {1, scale, scale});
    x = graph_.conv("encoder.conv_in", x, config_.widths.front(), {1, 3, 3});
    for (size_t block = 0; block < blocks; ++block) {
      const std::string name = "encoder.down_blocks." + std::to_string(block);
      for (int64_t layer = 0; layer < config_.layers_per_block; ++layer)
        x = blocks_.resnet(name + ".resnets." + std::to_string(layer), x, config_.widths[block]);
      if (block + 1 < blocks) {
        x = graph_.strided_conv(name + ".downsamplers.0.conv", x, config_.widths[block], {1, 3, 3}, {1, 2, 2},
                                {.begins_at_own = true});
      }
    }
    x = mid_block("encoder", x);
    x = blocks_.normalised("encoder.conv_norm_out", x, Activation::silu);
    const int64_t moments = 2 * config_.latent_channels;
    x = graph_.conv("encoder.conv_out", x, moments, {1, 3, 3});
    if (config_.quant_conv) x = graph_.conv("quant_conv", x, moments, {1, 1, 1});
    graph_.set_output(x);
  }

 private:
  TensorId mid_block(const std::string& side, TensorId x) {
    const std::string name = side + ".mid_block.";
    x = blocks_.resnet(name + "resnets.0", x, config_.widths.back());
    if (config_.mid_attention) x = blocks_.attention(name + "attentions.0", x, {});
    return blocks_.resnet(name + "resnets.1", x, config_.widths.back());
  }

  const Config& config_;
  Graph& graph_;
  GroupNormBlocks blocks_;
};

Model model_of(const Config& config, const JsonFields& json) {
  Model model;
  model.latent_channels = config.latent_channels;
  Builder(config, model.graph).decoder();
  model.force_upcast = json.has("force_upcast") ? json["force_upcast"].boolean() : true;
  return model;
}

Graph encoder_of(const Config& config) {
  Graph graph;
  Builder(config, graph).encoder();
  return graph;
}

Graph encoder(const JsonFields& json) {
  return encoder_of(read_config(json, {}, kEncoderKeys));
}

/// Latent layout of FLUX.2's pipelines: patches become channels, and a batch norm of the VAE normalises them.
LatentPatches read_patches(const JsonFields& json) {
  LatentPatches patches{2, 2, 1e-4};
  if (json.has("patch_size")) {
    const JsonFields size = json["patch_size"];
    if (size.size(2) != 2) size.fail("expected two integers");
    patches.rows = size[0].integer(1, 64);
    patches.columns = size[1].integer(1, 64);
  }
  if (json.has("batch_norm_eps")) {
    const JsonFields epsilon = json["batch_norm_eps"];
    patches.epsilon = epsilon.is_null() ? std::nullopt : std::optional(epsilon.amount());
  }
  return patches;
}

Model build(const JsonFields& json) {
  const auto has = [&](const char* key) { return json.has(key) && !json[key].is_null(); };
  Model model = model_of(read_config(json, {}), json);
  model.scaling_factor = scaling_factor(json, kStableDiffusionScale);
  model.shift_factor = shift_factor(json, 0).value_or(0);  // its default in diffusers is None
  model.scaled_by_channel = has("latents_mean") && has("latents_std");
  model.latents_mean = channel_values(json, "latents_mean");
  model.latents_std = channel_values(json, "latents_std");
  return model;
}

Config flux2_defaults() {
  Config config;
  config.latent_channels = 32;
  config.widths = {128, 256, 512, 512};
  config.layers_per_block = 2;
  return config;
}

/// FLUX.2 uses AutoencoderKL's blocks. Its small decoder has its own widths, in decoder_block_out_channels.
Model build_flux2(const JsonFields& json) {
  const bool own_widths =
      json.has("decoder_block_out_channels") && !json["decoder_block_out_channels"].is_null();
  const Keys keys{.widths = own_widths ? "decoder_block_out_channels" : "block_out_channels"};
  Model model = model_of(read_config(json, flux2_defaults(), keys), json);
  model.latent_patches = read_patches(json);
  return model;
}

Graph flux2_encoder(const JsonFields& json) {
  return encoder_of(read_config(json, flux2_defaults(), kEncoderKeys));
}

/// AutoencoderKL's blocks with other config keys. Ignores the inpainting inputs, a picture and a mask.
Model build_asymmetric(const JsonFields& json) {
  const Keys keys{.widths = "up_block_out_channels", .layers = "layers_per_up_block"};
  Model model = model_of(read_config(json, {}, keys), json);
  model.scaling_factor = scaling_factor(json, kStableDiffusionScale);
  model.force_upcast = false;
  return model;
}

std::vector<BuiltIn> built_ins() {
  const std::string four_blocks =
      R"({"_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2,
         "norm_num_groups": 32, "act_fn": "silu", "out_channels": 3,
         "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D"],
         "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"], )";
  return {
      {"sd15",
       four_blocks +
           R"("latent_channels": 4, "scaling_factor": 0.18215, "force_upcast": false, "sample_size": 512})",
       "cond_stage_model.",
       {"sd14", "sd21", "stable-diffusion-v1-5", "stable-diffusion-2-1"}},
      {"sdxl",
       four_blocks +
           R"("latent_channels": 4, "scaling_factor": 0.13025, "force_upcast": true, "sample_size": 1024})",
       "conditioner.embedders.",
       {"stable-diffusion-xl", "stable-diffusion-xl-base-1.0", "sdxl-turbo"}},
      {"sd3",
       four_blocks +
           R"("latent_channels": 16, "scaling_factor": 1.5305, "shift_factor": 0.0609, "force_upcast": true,
              "sample_size": 1024, "use_quant_conv": false, "use_post_quant_conv": false})",
       "model.diffusion_model.joint_blocks.",
       {"sd3.5", "stable-diffusion-3", "stable-diffusion-3.5-large", "stable-diffusion-3.5-medium"}},
      {"flux",
       four_blocks +
           R"("latent_channels": 16, "scaling_factor": 0.3611, "shift_factor": 0.1159, "force_upcast": true,
              "sample_size": 1024, "use_quant_conv": false, "use_post_quant_conv": false})",
       "model.diffusion_model.double_blocks.",
       {"flux.1", "flux.1-dev", "flux.1-schnell", "flux.1-kontext-dev", "z-image", "z-image-turbo"}}};
}

std::vector<BuiltIn> flux2_built_ins() {
  const std::string flux2 =
      R"({"_class_name": "AutoencoderKLFlux2", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2,
          "norm_num_groups": 32, "act_fn": "silu", "out_channels": 3, "latent_channels": 32, "patch_size": [2, 2],
          "batch_norm_eps": 0.0001, "force_upcast": true,
          "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D"],
          "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"])";
  return {{"flux2", flux2 + "}", {}, {"flux.2-dev", "flux.2-klein-4b", "flux.2-klein-9b"}},
          {"flux2-small-decoder",
           flux2 + R"(, "decoder_block_out_channels": [96, 192, 384, 384]})",
           {},
           {"flux2-small", "flux.2-small-decoder"}}};
}

/// Resolutions are numbered from the finest.
std::vector<Renaming> renamings(const CheckpointNames& stored) {
  return stable_diffusion_renamings("{" + std::to_string(count_of(stored, "decoder.up.#.") - 1) + "-a}");
}

std::vector<Renaming> flux2_renamings(const CheckpointNames&) {
  return {{"post_quant_conv.", "decoder.post_quant_conv."}, {"quant_conv.", "encoder.quant_conv."}};
}

}  // namespace

// diffusers 0.42.1: models/autoencoders/autoencoder_kl.py, autoencoder_kl_flux2.py, autoencoder_asym_kl.py
// and vae.py, and models/unets/unet_2d_blocks.py.
std::vector<Family> autoencoder_kl_families() {
  return {
      {.class_name = "AutoencoderKL",
       .source_file = "autoencoder_kl.py",
       .eager_network = EagerNetwork::kl,
       .packing = {.pipelines = "FLUX ", .channels = 16},
       .original_names = {.key = "stable_diffusion",
                          .decoder_mark = "decoder.mid.block_1.norm1.weight",
                          .encoder_mark = "encoder.mid.block_1.norm1.weight",
                          .renamings = renamings},
       .built_ins = built_ins(),
       .build = build,
       .encoder = encoder},
      {.class_name = "AutoencoderKLFlux2",
       .source_file = "autoencoder_kl_flux2.py",
       .eager_network = EagerNetwork::kl,
       .packing = {.pipelines = "FLUX.2 ", .unpack = "pipe._unpack_latents_with_ids(latents, latent_ids)"},
       .original_names = {.key = "flux2",
                          .decoder_mark = "decoder.mid.block_1.norm1.weight",
                          .encoder_mark = "encoder.mid.block_1.norm1.weight",
                          .renamings = flux2_renamings},
       .built_ins = flux2_built_ins(),
       .build = build_flux2,
       .encoder = flux2_encoder},
      {.class_name = "AsymmetricAutoencoderKL",
       .source_file = "autoencoder_asym_kl.py",
       .eager_network = EagerNetwork::kl,
       .build = build_asymmetric}};
}

}  // namespace headroom
