#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/refused_config.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::changed;
using test::refuses;

/// Keys of a class's config by what they hold.
struct Family {
  json config;
  std::vector<const char*> integers, lists, booleans;
};

std::vector<Family> families() {
  return {
      {test::tiny_config(),
       {"latent_channels", "out_channels", "layers_per_block", "norm_num_groups"},
       {"block_out_channels", "up_block_types"},
       {"mid_block_add_attention", "use_post_quant_conv"}},
      {test::tiny_dc_config(),
       {"in_channels", "latent_channels", "attention_head_dim"},
       {"decoder_block_out_channels", "decoder_layers_per_block", "decoder_qkv_multiscales"},
       {"decoder_in_shortcut"}},
      {test::tiny_autoencoder_tiny_config(),
       {"latent_channels", "out_channels", "upsampling_scaling_factor"},
       {"decoder_block_out_channels", "num_decoder_blocks"},
       {"use_midblock_gn"}},
      {test::tiny_taehv_config(),
       {"latent_channels", "out_channels", "patch_size"},
       {"decoder_block_out_channels", "num_decoder_blocks"},
       {}},
      {test::tiny_hunyuan_image_config(),
       {"latent_channels", "out_channels", "layers_per_block", "spatial_compression_ratio"},
       {"block_out_channels"},
       {"upsample_match_channel"}},
      {test::tiny_hunyuan_video_config(),
       {"latent_channels", "out_channels", "layers_per_block", "norm_num_groups", "spatial_compression_ratio",
        "temporal_compression_ratio"},
       {"block_out_channels", "up_block_types"},
       {"mid_block_add_attention"}},
      {test::tiny_hunyuan_video_15_config(),
       {"latent_channels", "out_channels", "layers_per_block", "spatial_compression_ratio",
        "temporal_compression_ratio"},
       {"block_out_channels"},
       {"upsample_match_channel"}},
      {test::tiny_seedvr2_config(),
       {"latent_channels", "out_channels", "layers_per_block", "norm_num_groups", "temporal_scale_num"},
       {"block_out_channels", "up_block_types"},
       {"attention", "use_post_quant_conv"}},
      {test::tiny_hunyuan_image_3_config(),
       {"latent_channels", "out_channels", "layers_per_block", "ffactor_spatial", "ffactor_temporal"},
       {"block_out_channels"},
       {"upsample_match_channel"}},
      {test::tiny_cogvideox_config(),
       {"latent_channels", "out_channels", "layers_per_block", "norm_num_groups"},
       {"block_out_channels", "up_block_types"},
       {"use_post_quant_conv"}},
      {test::tiny_temporal_decoder_config(),
       {"latent_channels", "out_channels", "layers_per_block"},
       {"block_out_channels"},
       {}},
      {test::tiny_hunyuan_image_refiner_config(),
       {"latent_channels", "out_channels", "layers_per_block", "spatial_compression_ratio",
        "temporal_compression_ratio"},
       {"block_out_channels"},
       {"upsample_match_channel"}},
      {test::tiny_ltx2_video_config(),
       {"latent_channels", "out_channels", "patch_size", "patch_size_t"},
       {"decoder_block_out_channels", "decoder_layers_per_block", "upsample_factor", "upsample_type"},
       {"decoder_causal"}},
      {test::tiny_wan_config(),
       {"base_dim", "z_dim", "num_res_blocks"},
       {"dim_mult", "temperal_downsample"},
       {"is_residual"}},
  };
}

TEST_CASE("hostile configs of every class are refused by their key") {
  for (const Family& family : families()) {
    CAPTURE(family.config["_class_name"]);
    for (const char* key : family.integers) {
      for (const json& value : {json("4"), json(-1), json(1.5), json(9.3e18), json(UINT64_MAX),
                                json(INT64_MAX), json(true), json::array(), json::object()}) {
        refuses(changed(family.config, key, value),
                {std::string("config.json: ") + key, "expected an integer"});
      }
    }
    for (const char* key : family.lists) {
      for (const json& value : {json(8), json("8"), json(), json::object()})
        refuses(changed(family.config, key, value), {key, "expected an array"});
      refuses(changed(family.config, key, std::vector<int64_t>(1000, 8)), {key});
      refuses(changed(family.config, key, {int64_t{1} << 40}), {key});
    }
    for (const char* key : family.booleans)
      refuses(changed(family.config, key, 1), {key, "expected true or false"});
  }
}

}  // namespace
}  // namespace headroom
