#include "decoder/graph/built_in_models.h"

#include <algorithm>
#include <map>

#include "decoder/graph/nearest.h"

namespace headroom {
namespace {

// As diffusers' class has it by default.
constexpr const char* kQwenImage21 =
    R"({"_class_name": "AutoencoderKLQwenImage21", "base_dim": 96, "decoder_base_dim": 144, "z_dim": 64,
    "dim_mult": [1, 2, 4, 8, 8], "num_res_blocks": 2, "temperal_downsample": [false, true, true, true],
    "is_residual": true, "out_channels": 4, "patch_size": null})";

// Of TI2V-5B, as diffusers' scripts/convert_wan_to_diffusers.py writes it.
constexpr const char* kWan22 =
    R"({"_class_name": "AutoencoderKLWan", "base_dim": 160, "decoder_base_dim": 256, "z_dim": 48,
    "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2, "temperal_downsample": [false, true, true],
    "is_residual": true, "out_channels": 12, "patch_size": 2, "scale_factor_spatial": 16,
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

const char* const kHunyuanVideo15 =
    R"({"_class_name": "AutoencoderKLHunyuanVideo15", "out_channels": 3, "latent_channels": 32,
        "block_out_channels": [128, 256, 512, 1024, 1024], "layers_per_block": 2, "spatial_compression_ratio": 16,
        "temporal_compression_ratio": 4, "upsample_match_channel": true, "scaling_factor": 1.03682})";

// As Lightricks/LTX-2 publishes it, and LTX-Video's first version.
const char* const kLtx2 =
    R"({"_class_name": "AutoencoderKLLTX2Video", "out_channels": 3, "latent_channels": 128,
        "decoder_block_out_channels": [256, 512, 1024], "decoder_layers_per_block": [5, 5, 5, 5],
        "decoder_spatio_temporal_scaling": [true, true, true], "decoder_inject_noise": [false, false, false, false],
        "upsample_type": ["spatiotemporal", "spatiotemporal", "spatiotemporal"],
        "upsample_residual": [true, true, true], "upsample_factor": [2, 2, 2], "timestep_conditioning": false,
        "patch_size": 4, "patch_size_t": 1, "resnet_norm_eps": 1e-6, "scaling_factor": 1.0,
        "decoder_causal": false, "decoder_spatial_padding_mode": "reflect"})";
const char* const kLtxVideo =
    R"({"_class_name": "AutoencoderKLLTXVideo", "out_channels": 3, "latent_channels": 128,
        "decoder_block_out_channels": [128, 256, 512, 512], "decoder_layers_per_block": [4, 3, 3, 3, 4],
        "decoder_spatio_temporal_scaling": [true, true, true, false],
        "upsample_residual": [false, false, false, false], "upsample_factor": [1, 1, 1, 1],
        "timestep_conditioning": false, "patch_size": 4, "patch_size_t": 1, "resnet_norm_eps": 1e-6,
        "scaling_factor": 1.0, "decoder_causal": false})";

// The configs that the models are published with, cut to what the decoder depends on.
const std::map<std::string, std::string>& built_ins() {
  static const std::string four_blocks =
      R"("_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2,
         "norm_num_groups": 32, "act_fn": "silu", "out_channels": 3,
         "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"], )";
  static const std::string causal =
      R"("base_dim": 96, "z_dim": 16, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2,
         "temperal_downsample": [false, true, true]})";
  static const std::string tiny =
      R"("_class_name": "AutoencoderTiny", "decoder_block_out_channels": [64, 64, 64, 64],
         "num_decoder_blocks": [3, 3, 3, 1], "act_fn": "relu", "out_channels": 3, "upsampling_scaling_factor": 2,
         "scaling_factor": 1.0, "shift_factor": 0.0, )";
  static const std::map<std::string, std::string> table{
      {"sd15",
       "{" + four_blocks +
           R"("latent_channels": 4, "scaling_factor": 0.18215, "force_upcast": false, "sample_size": 512})"},
      {"sdxl",
       "{" + four_blocks +
           R"("latent_channels": 4, "scaling_factor": 0.13025, "force_upcast": true, "sample_size": 1024})"},
      {"sd3",
       "{" + four_blocks +
           R"("latent_channels": 16, "scaling_factor": 1.5305, "shift_factor": 0.0609, "force_upcast": true,
                     "sample_size": 1024, "use_post_quant_conv": false})"},
      {"flux",
       "{" + four_blocks +
           R"("latent_channels": 16, "scaling_factor": 0.3611, "shift_factor": 0.1159, "force_upcast": true,
                      "sample_size": 1024, "use_post_quant_conv": false})"},
      {"flux2",
       R"({"_class_name": "AutoencoderKLFlux2", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2,
           "norm_num_groups": 32, "act_fn": "silu", "out_channels": 3, "latent_channels": 32, "patch_size": [2, 2],
           "batch_norm_eps": 0.0001, "force_upcast": true,
           "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"]})"},
      {"flux2-small-decoder",
       R"({"_class_name": "AutoencoderKLFlux2", "block_out_channels": [128, 256, 512, 512],
           "decoder_block_out_channels": [96, 192, 384, 384], "layers_per_block": 2,
           "norm_num_groups": 32, "act_fn": "silu", "out_channels": 3, "latent_channels": 32, "patch_size": [2, 2],
           "batch_norm_eps": 0.0001, "force_upcast": true,
           "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"]})"},
      {"sana-dc-ae-f32c32",
       R"({"_class_name": "AutoencoderDC", "in_channels": 3, "latent_channels": 32, "attention_head_dim": 32,
           "decoder_block_types": ["ResBlock", "ResBlock", "ResBlock",
                                   "EfficientViTBlock", "EfficientViTBlock", "EfficientViTBlock"],
           "decoder_block_out_channels": [128, 256, 512, 512, 1024, 1024],
           "decoder_layers_per_block": [3, 3, 3, 3, 3, 3],
           "decoder_qkv_multiscales": [[], [], [], [5], [5], [5]],
           "decoder_norm_types": "rms_norm", "decoder_act_fns": "silu", "upsample_block_type": "interpolate",
           "scaling_factor": 0.41407})"},
      {"hunyuan-image-2.1",
       R"({"_class_name": "AutoencoderKLHunyuanImage", "out_channels": 3, "latent_channels": 64,
           "block_out_channels": [128, 256, 512, 512, 1024, 1024], "layers_per_block": 2,
           "spatial_compression_ratio": 32, "scaling_factor": 0.75289, "upsample_match_channel": true})"},
      // As diffusers' class has it by default.
      {"hunyuan-video",
       R"({"_class_name": "AutoencoderKLHunyuanVideo", "out_channels": 3, "latent_channels": 16,
           "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "act_fn": "silu", "norm_num_groups": 32,
           "up_block_types": ["HunyuanVideoUpBlock3D", "HunyuanVideoUpBlock3D", "HunyuanVideoUpBlock3D",
                              "HunyuanVideoUpBlock3D"],
           "spatial_compression_ratio": 8, "temporal_compression_ratio": 4, "mid_block_add_attention": true,
           "scaling_factor": 0.476986})"},
      {"hunyuan-video-1.5", kHunyuanVideo15},
      {"ltx-2", kLtx2},
      {"ltx-video", kLtxVideo},
      // As v1.0.0 publishes it (scripts/causalvae/release.json).
      {"open-sora-plan",
       R"({"_class_name": "CausalVAEModel", "hidden_size": 128, "z_channels": 4, "embed_dim": 4,
           "hidden_size_mult": [1, 2, 4, 4], "num_res_blocks": 2, "attn_resolutions": [], "resolution": 256,
           "q_conv": "CausalConv3d", "decoder_conv_in": "CausalConv3d", "decoder_conv_out": "CausalConv3d",
           "decoder_attention": "AttnBlock3D", "decoder_mid_resnet": "ResnetBlock3D",
           "decoder_resnet_blocks": ["ResnetBlock3D", "ResnetBlock3D", "ResnetBlock3D", "ResnetBlock3D"],
           "decoder_spatial_upsample": ["", "SpatialUpsample2x", "SpatialUpsample2x", "SpatialUpsample2x"],
           "decoder_temporal_upsample": ["", "", "TimeUpsample2x", "TimeUpsample2x"]})"},
      {"taesd", "{" + tiny + R"("latent_channels": 4})"},
      {"taef1", "{" + tiny + R"("latent_channels": 16})"},
      {"qwen-image", R"({"_class_name": "AutoencoderKLQwenImage", )" + causal},
      {"qwen-image-2.1", kQwenImage21},
      {"wan2.1", R"({"_class_name": "AutoencoderKLWan", )" + causal},
      {"wan2.2", kWan22},
  };
  return table;
}

/// "FLUX.1-dev" as "flux1dev".
std::string letters_and_digits(const std::string& name) {
  std::string word = lower_case(name);
  std::erase_if(word, [](char c) { return !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'); });
  return word;
}

}  // namespace

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const auto& entry : built_ins()) names.push_back(entry.first);
  return names;
}

const std::string* built_in_config(const std::string& name) {
  const auto entry = built_ins().find(name);
  return entry == built_ins().end() ? nullptr : &entry->second;
}

std::string nearest_built_in(const std::string& name) {
  // The last part of a path or repository names the model.
  const std::string word = letters_and_digits(name.substr(name.find_last_of('/') + 1));
  std::vector<std::string> words;
  std::string longest;
  for (const auto& [built_in, config] : built_ins()) {
    words.push_back(letters_and_digits(built_in));
    if (word.starts_with(words.back()) && built_in.size() > longest.size()) longest = built_in;
  }
  if (!longest.empty()) return longest;
  const auto same = [&](const std::string& known) {
    return std::next(built_ins().begin(), std::find(words.begin(), words.end(), known) - words.begin())
        ->first;
  };
  constexpr size_t kLeastLetters = 3;
  for (const std::string& known : words) {
    if (word.size() >= kLeastLetters && known.starts_with(word)) return same(known);
  }
  const std::string known = nearest(word, words);
  return known.empty() ? "" : same(known);
}

}  // namespace headroom
