#include "decoder/graph/model.h"

#include <map>
#include <nlohmann/json.hpp>

#include "decoder/graph/families/autoencoder_dc.h"
#include "decoder/graph/families/autoencoder_kl.h"
#include "decoder/graph/families/autoencoder_kl_wan.h"
#include "decoder/graph/families/causal_vae_model.h"
#include "decoder/graph/json_fields.h"

namespace headroom {
namespace {

constexpr int64_t kMostConfigBytes = 16 << 20;
constexpr int64_t kMostPixels = 1 << 20;
constexpr int64_t kMostFrames = 1'000'000;

using Family = Model (*)(const JsonFields&);

/// diffusers' class names and who builds them. A new family adds one line.
const std::map<std::string, Family>& families() {
  static const std::map<std::string, Family> table{{"AutoencoderDC", autoencoder_dc},
                                                   {"AutoencoderKL", autoencoder_kl},
                                                   {"AutoencoderKLQwenImage", autoencoder_kl_qwen_image},
                                                   {"AutoencoderKLWan", autoencoder_kl_wan},
                                                   {"CausalVAEModel", causal_vae_model}};
  return table;
}

// The configs that the models are published with, cut to what the decoder depends on.
const std::map<std::string, std::string>& built_ins() {
  static const std::string four_blocks =
      R"("_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2,
         "norm_num_groups": 32, "act_fn": "silu", "out_channels": 3,
         "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"], )";
  static const std::string causal =
      R"("base_dim": 96, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2,
         "temperal_downsample": [false, true, true],
         "latents_mean": [-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508, 0.4134, -0.0715, 0.5517,
                          -0.3632, -0.1922, -0.9497, 0.2503, -0.2921],
         "latents_std": [2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743, 3.2687, 2.1526, 2.8652,
                         1.5579, 1.6382, 1.1253, 2.8251, 1.9160]})";
  static const std::map<std::string, std::string> table{
      {"sd15",
       "{" + four_blocks + R"("latent_channels": 4, "scaling_factor": 0.18215, "force_upcast": false})"},
      {"sdxl",
       "{" + four_blocks + R"("latent_channels": 4, "scaling_factor": 0.13025, "force_upcast": true})"},
      {"sd3",
       "{" + four_blocks +
           R"("latent_channels": 16, "scaling_factor": 1.5305, "shift_factor": 0.0609, "force_upcast": true,
                     "use_post_quant_conv": false})"},
      {"flux",
       "{" + four_blocks +
           R"("latent_channels": 16, "scaling_factor": 0.3611, "shift_factor": 0.1159, "force_upcast": true,
                      "use_post_quant_conv": false})"},
      {"sana-dc-ae-f32c32",
       R"({"_class_name": "AutoencoderDC", "in_channels": 3, "latent_channels": 32, "attention_head_dim": 32,
           "decoder_block_types": ["ResBlock", "ResBlock", "ResBlock",
                                   "EfficientViTBlock", "EfficientViTBlock", "EfficientViTBlock"],
           "decoder_block_out_channels": [128, 256, 512, 512, 1024, 1024],
           "decoder_layers_per_block": [3, 3, 3, 3, 3, 3],
           "decoder_qkv_multiscales": [[], [], [], [5], [5], [5]],
           "decoder_norm_types": "rms_norm", "decoder_act_fns": "silu", "upsample_block_type": "interpolate",
           "scaling_factor": 0.41407})"},
      // As v1.0.0 publishes it (scripts/causalvae/release.json).
      {"open-sora-plan",
       R"({"_class_name": "CausalVAEModel", "hidden_size": 128, "z_channels": 4, "embed_dim": 4,
           "hidden_size_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_resolutions": [], "resolution": 256,
           "q_conv": "CausalConv3d", "decoder_conv_in": "CausalConv3d", "decoder_conv_out": "CausalConv3d",
           "decoder_attention": "AttnBlock3D", "decoder_mid_resnet": "ResnetBlock3D",
           "decoder_resnet_blocks": ["ResnetBlock3D", "ResnetBlock3D", "ResnetBlock3D", "ResnetBlock3D"],
           "decoder_spatial_upsample": ["", "SpatialUpsample2x", "SpatialUpsample2x", "SpatialUpsample2x"],
           "decoder_temporal_upsample": ["", "", "TimeUpsample2x", "TimeUpsample2x"]})"},
      {"qwen-image", R"({"_class_name": "AutoencoderKLQwenImage", )" + causal},
      {"wan2.1", R"({"_class_name": "AutoencoderKLWan", )" + causal},
  };
  return table;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Model build(const nlohmann::json& config, const std::string& origin) {
  const JsonFields fields(config, origin);
  if (!config.is_object()) fields.fail("expected an object");
  const std::string class_name = fields["_class_name"].text();
  const auto family = families().find(class_name);
  if (family == families().end()) {
    std::vector<std::string> known;
    for (const auto& entry : families()) known.push_back(entry.first);
    fields["_class_name"].fail("'" + class_name + "' is not supported; expected " + joined(known));
  }
  Model model = family->second(fields);
  model.config_file = origin;
  return model;
}

}  // namespace

Model parse_model(const std::string& config_text, const std::string& origin) {
  return build(parse_json(config_text, origin), origin);
}

Model load_model(const std::filesystem::path& config_file) {
  Model model = build(read_json_file(config_file, kMostConfigBytes), config_file.string());
  model.name = std::filesystem::absolute(config_file).parent_path().filename().string();
  return model;
}

Model resolve_model(const std::string& argument) {
  const auto built_in = built_ins().find(argument);
  if (built_in != built_ins().end()) {
    Model model = parse_model(built_in->second, argument);
    model.name = argument;
    return model;
  }
  std::error_code error;
  if (!std::filesystem::is_directory(argument, error)) {
    throw InputError("--model " + argument + ": expected a folder with config.json, or one of " +
                     joined(built_in_models()));
  }
  return load_model(std::filesystem::path(argument) / "config.json");
}

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const auto& entry : built_ins()) names.push_back(entry.first);
  return names;
}

Dtype decoding_dtype(const Model& model, Dtype asked) {
  return asked == Dtype::fp16 && model.force_upcast ? Dtype::fp32 : asked;
}

namespace {

int64_t latent_frames(const Model& model, int64_t frames) {
  if (!model.decodes_clips && frames != 1) {
    throw InputError("--frames: " + model.class_name + " decodes single pictures; expected 1, found " +
                     std::to_string(frames));
  }
  if (frames < 1 || frames > kMostFrames) {
    throw InputError("--frames: expected from 1 to " + std::to_string(kMostFrames) + ", found " +
                     std::to_string(frames));
  }
  const int64_t scale = model.graph.tensor(model.graph.output()).scale.t;
  const int64_t later = (frames - 1) / scale, rest = (frames - 1) % scale;
  if (rest != 0) {
    const int64_t nearest = (later + (2 * rest > scale ? 1 : 0)) * scale + 1;
    throw InputError("--frames: expected 1 and a multiple of " + std::to_string(scale) + ", found " +
                     std::to_string(frames) + "; the nearest is " + std::to_string(nearest));
  }
  return later + 1;
}

}  // namespace

Extent latent_extent(const Model& model, int64_t width_pixels, int64_t height_pixels, int64_t frames) {
  const Axes<int32_t> scale = model.graph.tensor(model.graph.output()).scale;
  const auto latent_length = [](int64_t pixels, int32_t factor, const char* what) {
    if (pixels < 1 || pixels > kMostPixels || pixels % factor != 0) {
      throw InputError(std::string("--size: expected a ") + what + " that is a multiple of " +
                       std::to_string(factor) + " up to " + std::to_string(kMostPixels) + ", found " +
                       std::to_string(pixels));
    }
    return pixels / factor;
  };
  return {latent_frames(model, frames), latent_length(height_pixels, scale.y, "height"),
          latent_length(width_pixels, scale.x, "width")};
}

std::vector<int64_t> latent_shape(const Model& model, const Extent& extent, int64_t batch) {
  std::vector<int64_t> shape{batch, model.latent_channels, extent.y, extent.x};
  if (extent.t > 1) shape.insert(shape.begin() + 2, extent.t);
  return shape;
}

}  // namespace headroom
