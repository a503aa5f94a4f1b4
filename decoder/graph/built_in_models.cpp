#include "decoder/graph/built_in_models.h"

#include <map>

namespace headroom {
namespace {

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
  static const std::string tiny =
      R"("_class_name": "AutoencoderTiny", "decoder_block_out_channels": [64, 64, 64, 64],
         "num_decoder_blocks": [3, 3, 3, 1], "act_fn": "relu", "out_channels": 3, "upsampling_scaling_factor": 2,
         "scaling_factor": 1.0, "shift_factor": 0.0, )";
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
      {"flux2",
       R"({"_class_name": "AutoencoderKLFlux2", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2,
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
      {"wan2.1", R"({"_class_name": "AutoencoderKLWan", )" + causal},
  };
  return table;
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

}  // namespace headroom
