#include "decoder/weights/tensor_names.h"

#include <catch2/catch.hpp>

namespace headroom {
namespace {

TEST_CASE("today's and older diffusers' names") {
  const TensorNames names({"decoder.conv_in.weight", "decoder.mid_block.attentions.0.query.weight",
                           "decoder.mid_block.attentions.0.proj_attn.bias"});
  CHECK(names.find("decoder.conv_in.weight") == "decoder.conv_in.weight");
  CHECK(names.find("decoder.mid_block.attentions.0.to_q.weight") ==
        "decoder.mid_block.attentions.0.query.weight");
  CHECK(names.find("decoder.mid_block.attentions.0.to_out.0.bias") ==
        "decoder.mid_block.attentions.0.proj_attn.bias");
  CHECK_FALSE(names.find("decoder.conv_out.weight"));
}

TEST_CASE("diffusers' names behind a prefix") {
  const TensorNames names({"vae.decoder.conv_in.weight", "vae.decoder.conv_out.bias"});
  CHECK(names.find("decoder.conv_out.bias") == "vae.decoder.conv_out.bias");
}

TEST_CASE("original names of Stable Diffusion and FLUX, whose resolutions are numbered from the finest") {
  for (const std::string prefix : {"", "first_stage_model."}) {
    const auto stored = [&](const std::string& name) { return prefix + name; };
    const TensorNames names(
        {stored("decoder.mid.block_1.norm1.weight"), stored("decoder.up.0.block.0.conv1.weight"),
         stored("decoder.up.3.block.1.norm2.bias"), stored("decoder.up.1.block.0.nin_shortcut.weight"),
         stored("decoder.up.2.upsample.conv.bias"), stored("decoder.mid.attn_1.norm.weight"),
         stored("decoder.mid.attn_1.proj_out.weight"), stored("decoder.mid.attn_1.k.bias"),
         stored("decoder.norm_out.weight"), stored("decoder.conv_out.weight"),
         stored("decoder.mid.block_2.conv2.bias"), stored("post_quant_conv.weight")});
    const auto check = [&](const std::string& now, const std::string& original) {
      CHECK(names.find(now) == stored(original));
    };
    check("decoder.mid_block.resnets.0.norm1.weight", "decoder.mid.block_1.norm1.weight");
    check("decoder.mid_block.resnets.1.conv2.bias", "decoder.mid.block_2.conv2.bias");
    check("decoder.up_blocks.3.resnets.0.conv1.weight", "decoder.up.0.block.0.conv1.weight");
    check("decoder.up_blocks.0.resnets.1.norm2.bias", "decoder.up.3.block.1.norm2.bias");
    check("decoder.up_blocks.2.resnets.0.conv_shortcut.weight", "decoder.up.1.block.0.nin_shortcut.weight");
    check("decoder.up_blocks.1.upsamplers.0.conv.bias", "decoder.up.2.upsample.conv.bias");
    check("decoder.mid_block.attentions.0.group_norm.weight", "decoder.mid.attn_1.norm.weight");
    check("decoder.mid_block.attentions.0.to_out.0.weight", "decoder.mid.attn_1.proj_out.weight");
    check("decoder.mid_block.attentions.0.to_k.bias", "decoder.mid.attn_1.k.bias");
    check("decoder.conv_norm_out.weight", "decoder.norm_out.weight");
    check("decoder.conv_out.weight", "decoder.conv_out.weight");
    check("post_quant_conv.weight", "post_quant_conv.weight");
  }
}

TEST_CASE("HunyuanVideo's names, whose convolutions are modules in modules") {
  const TensorNames original({"vae.decoder.conv_in.conv.weight", "vae.post_quant_conv.weight",
                              "vae.decoder.up_blocks.0.upsamplers.0.conv.conv.bias"});
  CHECK(original.find("decoder.conv_in.conv.weight") == "vae.decoder.conv_in.conv.weight");
  CHECK(original.find("post_quant_conv.weight") == "vae.post_quant_conv.weight");
  CHECK(original.find("decoder.up_blocks.0.upsamplers.0.conv.conv.bias") ==
        "vae.decoder.up_blocks.0.upsamplers.0.conv.conv.bias");

  const TensorNames renamed({"decoder.conv_in.conv.weight", "decoder.mid.block_1.norm1.weight",
                             "decoder.mid.block_2.conv1.conv.weight", "decoder.mid.attn_1.q.weight",
                             "decoder.mid.attn_1.proj_out.bias", "decoder.mid.attn_1.norm.weight",
                             "decoder.up.3.block.2.conv2.conv.bias",
                             "decoder.up.1.block.0.nin_shortcut.conv.weight",
                             "decoder.up.3.upsample.conv.conv.weight", "decoder.norm_out.bias",
                             "decoder.conv_out.conv.weight", "post_quant_conv.weight"});
  const auto check = [&](const std::string& now, const std::string& stored) {
    CHECK(renamed.find(now) == stored);
  };
  check("decoder.conv_in.conv.weight", "decoder.conv_in.conv.weight");
  check("decoder.mid_block.resnets.0.norm1.weight", "decoder.mid.block_1.norm1.weight");
  check("decoder.mid_block.resnets.1.conv1.conv.weight", "decoder.mid.block_2.conv1.conv.weight");
  check("decoder.mid_block.attentions.0.to_q.weight", "decoder.mid.attn_1.q.weight");
  check("decoder.mid_block.attentions.0.to_out.0.bias", "decoder.mid.attn_1.proj_out.bias");
  check("decoder.mid_block.attentions.0.group_norm.weight", "decoder.mid.attn_1.norm.weight");
  check("decoder.up_blocks.0.resnets.2.conv2.conv.bias", "decoder.up.3.block.2.conv2.conv.bias");
  check("decoder.up_blocks.2.resnets.0.conv_shortcut.conv.weight",
        "decoder.up.1.block.0.nin_shortcut.conv.weight");
  check("decoder.up_blocks.0.upsamplers.0.conv.conv.weight", "decoder.up.3.upsample.conv.conv.weight");
  check("decoder.conv_norm_out.bias", "decoder.norm_out.bias");
  check("decoder.conv_out.conv.weight", "decoder.conv_out.conv.weight");
  check("post_quant_conv.weight", "post_quant_conv.weight");
}

TEST_CASE("original names of Wan, whose modules are numbered") {
  const TensorNames names({"decoder.middle.0.residual.0.gamma", "decoder.middle.2.residual.6.weight",
                           "decoder.middle.1.to_qkv.weight", "decoder.upsamples.4.shortcut.weight",
                           "decoder.upsamples.7.resample.1.weight", "decoder.upsamples.3.time_conv.bias",
                           "decoder.upsamples.14.residual.2.bias", "decoder.conv1.weight",
                           "decoder.head.0.gamma", "decoder.head.2.weight", "conv2.weight",
                           "encoder.conv1.weight"});
  CHECK(names.find("decoder.mid_block.resnets.0.norm1.gamma") == "decoder.middle.0.residual.0.gamma");
  CHECK(names.find("decoder.mid_block.resnets.1.conv2.weight") == "decoder.middle.2.residual.6.weight");
  CHECK(names.find("decoder.mid_block.attentions.0.to_qkv.weight") == "decoder.middle.1.to_qkv.weight");
  CHECK(names.find("decoder.up_blocks.1.resnets.0.conv_shortcut.weight") ==
        "decoder.upsamples.4.shortcut.weight");
  CHECK(names.find("decoder.up_blocks.1.upsamplers.0.resample.1.weight") ==
        "decoder.upsamples.7.resample.1.weight");
  CHECK(names.find("decoder.up_blocks.0.upsamplers.0.time_conv.bias") ==
        "decoder.upsamples.3.time_conv.bias");
  CHECK(names.find("decoder.up_blocks.3.resnets.2.conv1.bias") == "decoder.upsamples.14.residual.2.bias");
  CHECK(names.find("decoder.conv_in.weight") == "decoder.conv1.weight");
  CHECK(names.find("decoder.norm_out.gamma") == "decoder.head.0.gamma");
  CHECK(names.find("decoder.conv_out.weight") == "decoder.head.2.weight");
  CHECK(names.find("post_quant_conv.weight") == "conv2.weight");
}

TEST_CASE("original names of Wan 2.2, whose modules are numbered in each resolution") {
  const TensorNames names({"vae.decoder.middle.0.residual.0.gamma",
                           "vae.decoder.upsamples.0.upsamples.0.residual.0.gamma",
                           "vae.decoder.upsamples.2.upsamples.0.shortcut.weight",
                           "vae.decoder.upsamples.1.upsamples.3.resample.1.weight",
                           "vae.decoder.upsamples.0.upsamples.3.time_conv.bias",
                           "vae.decoder.upsamples.3.upsamples.2.residual.6.bias", "vae.conv2.weight"});
  CHECK(names.find("decoder.mid_block.resnets.0.norm1.gamma") == "vae.decoder.middle.0.residual.0.gamma");
  CHECK(names.find("decoder.up_blocks.0.resnets.0.norm1.gamma") ==
        "vae.decoder.upsamples.0.upsamples.0.residual.0.gamma");
  CHECK(names.find("decoder.up_blocks.2.resnets.0.conv_shortcut.weight") ==
        "vae.decoder.upsamples.2.upsamples.0.shortcut.weight");
  CHECK(names.find("decoder.up_blocks.1.upsampler.resample.1.weight") ==
        "vae.decoder.upsamples.1.upsamples.3.resample.1.weight");
  CHECK(names.find("decoder.up_blocks.0.upsampler.time_conv.bias") ==
        "vae.decoder.upsamples.0.upsamples.3.time_conv.bias");
  CHECK(names.find("decoder.up_blocks.3.resnets.2.conv2.bias") ==
        "vae.decoder.upsamples.3.upsamples.2.residual.6.bias");
  CHECK(names.find("post_quant_conv.weight") == "vae.conv2.weight");
  CHECK_FALSE(names.find("decoder.up_blocks.0.upsamplers.0.time_conv.bias"));
}

TEST_CASE("original names of HunyuanImage, whose resolutions are numbered from the coarsest") {
  const TensorNames names({"vae.decoder.mid.block_1.norm1.weight", "vae.decoder.up.0.block.0.conv1.weight",
                           "vae.decoder.up.0.block.2.conv2.bias", "vae.decoder.up.0.upsample.conv.weight",
                           "vae.decoder.up.1.block.0.norm1.weight", "vae.decoder.up.5.block.2.norm2.bias",
                           "vae.decoder.mid.attn_1.proj_out.weight", "vae.decoder.mid.attn_1.norm.bias",
                           "vae.decoder.norm_out.weight"});
  const auto check = [&](const std::string& now, const std::string& original) {
    CHECK(names.find(now) == "vae." + original);
  };
  check("decoder.mid_block.resnets.0.norm1.weight", "decoder.mid.block_1.norm1.weight");
  check("decoder.up_blocks.0.conv1.weight", "decoder.up.0.block.0.conv1.weight");
  check("decoder.up_blocks.2.conv2.bias", "decoder.up.0.block.2.conv2.bias");
  check("decoder.up_blocks.3.conv.weight", "decoder.up.0.upsample.conv.weight");
  check("decoder.up_blocks.4.norm1.weight", "decoder.up.1.block.0.norm1.weight");
  check("decoder.up_blocks.22.norm2.bias", "decoder.up.5.block.2.norm2.bias");
  check("decoder.mid_block.attentions.0.proj.weight", "decoder.mid.attn_1.proj_out.weight");
  check("decoder.mid_block.attentions.0.norm.bias", "decoder.mid.attn_1.norm.bias");
  check("decoder.norm_out.weight", "decoder.norm_out.weight");
}

TEST_CASE("original names of TAESD, whose modules are a sequence behind a clamp") {
  for (const std::string prefix : {"", "taesd_decoder.", "decoder."}) {
    const TensorNames names({"taesd_encoder.0.weight", "taesd_encoder.1.conv.0.weight",
                             "taesd_encoder.3.conv.0.weight", prefix + "1.weight", prefix + "3.conv.0.weight",
                             prefix + "3.conv.4.bias", prefix + "7.weight", prefix + "18.bias"});
    CHECK(names.find("decoder.layers.0.weight") == prefix + "1.weight");
    CHECK(names.find("decoder.layers.2.conv.0.weight") == prefix + "3.conv.0.weight");
    CHECK(names.find("decoder.layers.2.conv.4.bias") == prefix + "3.conv.4.bias");
    CHECK(names.find("decoder.layers.6.weight") == prefix + "7.weight");
    CHECK(names.find("decoder.layers.17.bias") == prefix + "18.bias");
    CHECK_FALSE(names.find("decoder.layers.6.bias"));
    CHECK_FALSE(names.find("decoder.layers.6"));
  }
  CHECK(TensorNames({"tae.decoder.layers.0.weight", "tae.decoder.layers.2.conv.0.weight"})
            .find("decoder.layers.2.conv.0.weight") == "tae.decoder.layers.2.conv.0.weight");
  CHECK_FALSE(TensorNames({"taesd_encoder.3.conv.0.weight"}).find("decoder.layers.2.conv.0.weight"));
}

TEST_CASE("odd names find nothing") {
  const TensorNames names({"decoder.mid.block_1.norm1.weight", "decoder.up.x.block.0.conv1.weight"});
  for (const std::string name :
       {"", "decoder.up_blocks.", "decoder.up_blocks.0", "decoder.up_blocks.99999999999.resnets.0.conv1",
        "decoder.mid_block.resnets.-1.norm1.weight", "decoder.up_blocks.0.resnets.1"})
    CHECK_FALSE(names.find(name));
  CHECK_FALSE(TensorNames().find("decoder.conv_in.weight"));
}

TEST_CASE("original names of FLUX.2, whose post_quant_conv lies in the decoder") {
  for (const std::string prefix : {"", "vae."}) {
    const TensorNames names({prefix + "decoder.mid.block_1.norm1.weight",
                             prefix + "decoder.up.0.block.0.conv1.weight",
                             prefix + "decoder.up.3.block.2.conv1.weight",
                             prefix + "decoder.post_quant_conv.bias", prefix + "bn.running_mean"});
    CHECK(names.find("post_quant_conv.bias") == prefix + "decoder.post_quant_conv.bias");
    CHECK(names.find("decoder.up_blocks.0.resnets.2.conv1.weight") ==
          prefix + "decoder.up.3.block.2.conv1.weight");
    CHECK(names.find("bn.running_mean") == prefix + "bn.running_mean");
  }
}

TEST_CASE("original names of HunyuanVideo 1.5, whose resolutions are numbered from the coarsest") {
  const TensorNames names({"decoder.mid.block_1.norm1.gamma", "decoder.mid.attn_1.norm.gamma",
                           "decoder.mid.attn_1.q.weight", "decoder.mid.attn_1.proj_out.bias",
                           "decoder.up.0.block.2.conv1.conv.weight", "decoder.up.0.upsample.conv.conv.bias",
                           "decoder.up.4.block.0.norm2.gamma", "decoder.conv_in.conv.weight",
                           "decoder.norm_out.gamma", "decoder.conv_out.conv.bias"});
  const auto check = [&](const std::string& now, const std::string& original) {
    CHECK(names.find(now) == original);
  };
  check("decoder.mid_block.resnets.0.norm1.gamma", "decoder.mid.block_1.norm1.gamma");
  check("decoder.mid_block.attentions.0.norm.gamma", "decoder.mid.attn_1.norm.gamma");
  check("decoder.mid_block.attentions.0.to_q.weight", "decoder.mid.attn_1.q.weight");
  check("decoder.mid_block.attentions.0.proj_out.bias", "decoder.mid.attn_1.proj_out.bias");
  check("decoder.up_blocks.0.resnets.2.conv1.conv.weight", "decoder.up.0.block.2.conv1.conv.weight");
  check("decoder.up_blocks.0.upsamplers.0.conv.conv.bias", "decoder.up.0.upsample.conv.conv.bias");
  check("decoder.up_blocks.4.resnets.0.norm2.gamma", "decoder.up.4.block.0.norm2.gamma");
  check("decoder.conv_in.conv.weight", "decoder.conv_in.conv.weight");
  check("decoder.norm_out.gamma", "decoder.norm_out.gamma");
  check("decoder.conv_out.conv.bias", "decoder.conv_out.conv.bias");
}

TEST_CASE("original names of LTX, whose blocks and upsamplings are one sequence") {
  const std::string up = "decoder.up_blocks.", vae = "vae." + up;
  const TensorNames ltx_2({vae + "0.res_blocks.0.conv1.conv.weight", vae + "1.conv.conv.weight",
                           vae + "2.res_blocks.4.conv2.conv.bias", vae + "3.conv.conv.bias",
                           vae + "4.res_blocks.0.conv_shortcut.weight", vae + "5.conv.conv.bias",
                           vae + "6.res_blocks.0.conv1.conv.bias", "vae.decoder.conv_in.conv.weight",
                           "vae.per_channel_statistics.mean-of-means",
                           "vae.per_channel_statistics.std-of-means",
                           "audio_vae.decoder.mid.block_1.norm1.weight"});
  CHECK(ltx_2.find("decoder.mid_block.resnets.0.conv1.conv.weight") ==
        vae + "0.res_blocks.0.conv1.conv.weight");
  CHECK(ltx_2.find(up + "0.upsamplers.0.conv.conv.weight") == vae + "1.conv.conv.weight");
  CHECK(ltx_2.find(up + "0.resnets.4.conv2.conv.bias") == vae + "2.res_blocks.4.conv2.conv.bias");
  CHECK(ltx_2.find(up + "1.upsamplers.0.conv.conv.bias") == vae + "3.conv.conv.bias");
  CHECK(ltx_2.find(up + "1.resnets.0.conv_shortcut.weight") == vae + "4.res_blocks.0.conv_shortcut.weight");
  CHECK(ltx_2.find(up + "2.resnets.0.conv1.conv.bias") == vae + "6.res_blocks.0.conv1.conv.bias");
  CHECK(ltx_2.find("decoder.conv_in.conv.weight") == "vae.decoder.conv_in.conv.weight");
  CHECK(ltx_2.find("latents_mean") == "vae.per_channel_statistics.mean-of-means");
  CHECK(ltx_2.find("latents_std") == "vae.per_channel_statistics.std-of-means");

  const TensorNames ltx_video({up + "0.res_blocks.0.conv1.conv.weight",
                               up + "1.res_blocks.0.conv1.conv.weight", up + "2.conv.conv.weight",
                               up + "3.res_blocks.0.conv1.conv.weight", up + "4.conv1.conv.weight",
                               up + "4.norm3.norm.weight", up + "4.conv_shortcut.weight",
                               up + "5.conv.conv.weight", up + "6.res_blocks.0.conv1.conv.weight"});
  CHECK(ltx_video.find(up + "0.resnets.0.conv1.conv.weight") == up + "1.res_blocks.0.conv1.conv.weight");
  CHECK(ltx_video.find(up + "1.upsamplers.0.conv.conv.weight") == up + "2.conv.conv.weight");
  CHECK(ltx_video.find(up + "2.conv_in.conv1.conv.weight") == up + "4.conv1.conv.weight");
  CHECK(ltx_video.find(up + "2.conv_in.norm3.weight") == up + "4.norm3.norm.weight");
  CHECK(ltx_video.find(up + "2.conv_in.conv_shortcut.conv.weight") == up + "4.conv_shortcut.weight");
  CHECK(ltx_video.find(up + "2.upsamplers.0.conv.conv.weight") == up + "5.conv.conv.weight");
  CHECK(ltx_video.find(up + "2.resnets.0.conv1.conv.weight") == up + "6.res_blocks.0.conv1.conv.weight");
}

}  // namespace
}  // namespace headroom
