#include "decoder/families/tensor_names.h"

#include <catch2/catch.hpp>

namespace headroom {
namespace {

/// Pairs of today's name and the one that a file stores, which comes behind each of these prefixes. `others`
/// are stored too, without a prefix.
void check_stored(const std::vector<std::pair<std::string, std::string>>& pairs,
                  const std::vector<std::string>& prefixes = {""},
                  const std::vector<std::string>& others = {}) {
  for (const std::string& prefix : prefixes) {
    std::vector<std::string> stored;
    for (const auto& [now, name] : pairs) stored.push_back(prefix + name);
    stored.insert(stored.end(), others.begin(), others.end());
    const TensorNames names(stored);
    for (const auto& [now, name] : pairs) {
      CAPTURE(prefix, now);
      CHECK(names.find(now) == prefix + name);
    }
  }
}

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
  check_stored(
      {{"decoder.mid_block.resnets.0.norm1.weight", "decoder.mid.block_1.norm1.weight"},
       {"decoder.mid_block.resnets.1.conv2.bias", "decoder.mid.block_2.conv2.bias"},
       {"decoder.up_blocks.3.resnets.0.conv1.weight", "decoder.up.0.block.0.conv1.weight"},
       {"decoder.up_blocks.0.resnets.1.norm2.bias", "decoder.up.3.block.1.norm2.bias"},
       {"decoder.up_blocks.2.resnets.0.conv_shortcut.weight", "decoder.up.1.block.0.nin_shortcut.weight"},
       {"decoder.up_blocks.1.upsamplers.0.conv.bias", "decoder.up.2.upsample.conv.bias"},
       {"decoder.mid_block.attentions.0.group_norm.weight", "decoder.mid.attn_1.norm.weight"},
       {"decoder.mid_block.attentions.0.to_out.0.weight", "decoder.mid.attn_1.proj_out.weight"},
       {"decoder.mid_block.attentions.0.to_k.bias", "decoder.mid.attn_1.k.bias"},
       {"decoder.conv_norm_out.weight", "decoder.norm_out.weight"},
       {"decoder.conv_out.weight", "decoder.conv_out.weight"},
       {"post_quant_conv.weight", "post_quant_conv.weight"}},
      {"", "first_stage_model."});
}

TEST_CASE("original names of Stable Video Diffusion, whose temporal blocks are stacked on spatial ones") {
  check_stored(
      {{"decoder.mid_block.resnets.0.spatial_res_block.norm1.weight", "decoder.mid.block_1.norm1.weight"},
       {"decoder.mid_block.resnets.0.time_mixer.mix_factor", "decoder.mid.block_1.mix_factor"},
       {"decoder.mid_block.resnets.1.temporal_res_block.norm1.bias",
        "decoder.mid.block_2.time_stack.in_layers.0.bias"},
       {"decoder.mid_block.attentions.0.to_q.weight", "decoder.mid.attn_1.q.weight"},
       {"decoder.up_blocks.3.resnets.0.temporal_res_block.conv1.weight",
        "decoder.up.0.block.0.time_stack.in_layers.2.weight"},
       {"decoder.up_blocks.0.resnets.2.temporal_res_block.norm2.weight",
        "decoder.up.3.block.2.time_stack.out_layers.0.weight"},
       {"decoder.up_blocks.0.resnets.1.temporal_res_block.conv2.bias",
        "decoder.up.3.block.1.time_stack.out_layers.3.bias"},
       {"decoder.up_blocks.0.resnets.1.time_mixer.mix_factor", "decoder.up.3.block.1.mix_factor"},
       {"decoder.up_blocks.2.resnets.0.spatial_res_block.conv_shortcut.weight",
        "decoder.up.1.block.0.nin_shortcut.weight"},
       {"decoder.up_blocks.1.upsamplers.0.conv.bias", "decoder.up.2.upsample.conv.bias"},
       {"decoder.conv_norm_out.weight", "decoder.norm_out.weight"},
       {"decoder.conv_out.weight", "decoder.conv_out.weight"},
       {"decoder.time_conv_out.bias", "decoder.conv_out.time_mix_conv.bias"}},
      {"", "first_stage_model."});
}

TEST_CASE("original names of CogVideoX, whose norms have modules for scale and shift") {
  check_stored(
      {{"decoder.conv_in.conv.weight", "decoder.conv_in.conv.weight"},
       {"decoder.mid_block.resnets.0.norm1.norm_layer.weight", "decoder.mid.block_1.norm1.norm_layer.weight"},
       {"decoder.mid_block.resnets.1.norm2.conv_y.conv.bias", "decoder.mid.block_2.norm2.conv_y.conv.bias"},
       {"decoder.up_blocks.0.resnets.3.conv1.conv.weight", "decoder.up.3.block.3.conv1.conv.weight"},
       {"decoder.up_blocks.1.resnets.0.conv_shortcut.weight", "decoder.up.2.block.0.nin_shortcut.weight"},
       {"decoder.up_blocks.0.upsamplers.0.conv.bias", "decoder.up.3.upsample.conv.bias"},
       {"decoder.norm_out.conv_b.conv.weight", "decoder.norm_out.conv_b.conv.weight"},
       {"decoder.conv_out.conv.bias", "decoder.conv_out.conv.bias"}},
      {"", "first_stage_model."});
}

TEST_CASE("HunyuanVideo's names, whose convolutions are modules in modules") {
  const TensorNames original({"vae.decoder.conv_in.conv.weight", "vae.post_quant_conv.weight",
                              "vae.decoder.up_blocks.0.upsamplers.0.conv.conv.bias"});
  CHECK(original.find("decoder.conv_in.conv.weight") == "vae.decoder.conv_in.conv.weight");
  CHECK(original.find("post_quant_conv.weight") == "vae.post_quant_conv.weight");
  CHECK(original.find("decoder.up_blocks.0.upsamplers.0.conv.conv.bias") ==
        "vae.decoder.up_blocks.0.upsamplers.0.conv.conv.bias");

  check_stored(
      {{"decoder.conv_in.conv.weight", "decoder.conv_in.conv.weight"},
       {"decoder.mid_block.resnets.0.norm1.weight", "decoder.mid.block_1.norm1.weight"},
       {"decoder.mid_block.resnets.1.conv1.conv.weight", "decoder.mid.block_2.conv1.conv.weight"},
       {"decoder.mid_block.attentions.0.to_q.weight", "decoder.mid.attn_1.q.weight"},
       {"decoder.mid_block.attentions.0.to_out.0.bias", "decoder.mid.attn_1.proj_out.bias"},
       {"decoder.mid_block.attentions.0.group_norm.weight", "decoder.mid.attn_1.norm.weight"},
       {"decoder.up_blocks.0.resnets.2.conv2.conv.bias", "decoder.up.3.block.2.conv2.conv.bias"},
       {"decoder.up_blocks.2.resnets.0.conv_shortcut.conv.weight",
        "decoder.up.1.block.0.nin_shortcut.conv.weight"},
       {"decoder.up_blocks.0.upsamplers.0.conv.conv.weight", "decoder.up.3.upsample.conv.conv.weight"},
       {"decoder.conv_norm_out.bias", "decoder.norm_out.bias"},
       {"decoder.conv_out.conv.weight", "decoder.conv_out.conv.weight"},
       {"post_quant_conv.weight", "post_quant_conv.weight"}});
}

TEST_CASE("original names of Wan, whose modules are numbered") {
  check_stored(
      {{"decoder.mid_block.resnets.0.norm1.gamma", "decoder.middle.0.residual.0.gamma"},
       {"decoder.mid_block.resnets.1.conv2.weight", "decoder.middle.2.residual.6.weight"},
       {"decoder.mid_block.attentions.0.to_qkv.weight", "decoder.middle.1.to_qkv.weight"},
       {"decoder.up_blocks.1.resnets.0.conv_shortcut.weight", "decoder.upsamples.4.shortcut.weight"},
       {"decoder.up_blocks.1.upsamplers.0.resample.1.weight", "decoder.upsamples.7.resample.1.weight"},
       {"decoder.up_blocks.0.upsamplers.0.time_conv.bias", "decoder.upsamples.3.time_conv.bias"},
       {"decoder.up_blocks.3.resnets.2.conv1.bias", "decoder.upsamples.14.residual.2.bias"},
       {"decoder.conv_in.weight", "decoder.conv1.weight"},
       {"decoder.norm_out.gamma", "decoder.head.0.gamma"},
       {"decoder.conv_out.weight", "decoder.head.2.weight"},
       {"post_quant_conv.weight", "conv2.weight"}},
      {""}, {"encoder.conv1.weight"});
}

TEST_CASE("original names of Wan 2.2, whose modules are numbered in each resolution") {
  check_stored(
      {{"decoder.mid_block.resnets.0.norm1.gamma", "decoder.middle.0.residual.0.gamma"},
       {"decoder.up_blocks.0.resnets.0.norm1.gamma", "decoder.upsamples.0.upsamples.0.residual.0.gamma"},
       {"decoder.up_blocks.2.resnets.0.conv_shortcut.weight",
        "decoder.upsamples.2.upsamples.0.shortcut.weight"},
       {"decoder.up_blocks.1.upsampler.resample.1.weight",
        "decoder.upsamples.1.upsamples.3.resample.1.weight"},
       {"decoder.up_blocks.0.upsampler.time_conv.bias", "decoder.upsamples.0.upsamples.3.time_conv.bias"},
       {"decoder.up_blocks.3.resnets.2.conv2.bias", "decoder.upsamples.3.upsamples.2.residual.6.bias"},
       {"post_quant_conv.weight", "conv2.weight"}},
      {"vae."});
  const TensorNames names({"vae.decoder.upsamples.0.upsamples.0.residual.0.gamma",
                           "vae.decoder.upsamples.0.upsamples.3.time_conv.bias"});
  CHECK_FALSE(names.find("decoder.up_blocks.0.upsamplers.0.time_conv.bias"));
}

TEST_CASE("original names of HunyuanImage, whose resolutions are numbered from the coarsest") {
  check_stored({{"decoder.mid_block.resnets.0.norm1.weight", "decoder.mid.block_1.norm1.weight"},
                {"decoder.up_blocks.0.conv1.weight", "decoder.up.0.block.0.conv1.weight"},
                {"decoder.up_blocks.2.conv2.bias", "decoder.up.0.block.2.conv2.bias"},
                {"decoder.up_blocks.3.conv.weight", "decoder.up.0.upsample.conv.weight"},
                {"decoder.up_blocks.4.norm1.weight", "decoder.up.1.block.0.norm1.weight"},
                {"decoder.up_blocks.22.norm2.bias", "decoder.up.5.block.2.norm2.bias"},
                {"decoder.mid_block.attentions.0.proj.weight", "decoder.mid.attn_1.proj_out.weight"},
                {"decoder.mid_block.attentions.0.norm.bias", "decoder.mid.attn_1.norm.bias"},
                {"decoder.norm_out.weight", "decoder.norm_out.weight"}},
               {"vae."});
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
    if (prefix != "taesd_decoder.") continue;
    CHECK(names.find("encoder.layers.0.weight") == "taesd_encoder.0.weight");
    CHECK(names.find("encoder.layers.1.conv.0.weight") == "taesd_encoder.1.conv.0.weight");
    CHECK_FALSE(names.find("encoder.layers.7.weight"));
  }
  const TensorNames alone({"0.weight", "1.conv.0.weight", "3.conv.0.weight"});
  CHECK(alone.find("encoder.layers.1.conv.0.weight") == "1.conv.0.weight");
  CHECK_FALSE(alone.find("decoder.layers.2.conv.0.weight"));
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
  CHECK_FALSE(TensorNames({"decoder.mid.block_1.norm1.weight", "decoder.up.2147483647.block.0.conv1.weight"})
                  .find("decoder.up_blocks.3.resnets.0.conv1.weight"));
}

TEST_CASE("original names of FLUX.2, whose post_quant_conv lies in the decoder") {
  check_stored({{"post_quant_conv.bias", "decoder.post_quant_conv.bias"},
                {"decoder.mid_block.resnets.0.norm1.weight", "decoder.mid.block_1.norm1.weight"},
                {"decoder.up_blocks.3.resnets.0.conv1.weight", "decoder.up.0.block.0.conv1.weight"},
                {"decoder.up_blocks.0.resnets.2.conv1.weight", "decoder.up.3.block.2.conv1.weight"},
                {"bn.running_mean", "bn.running_mean"}},
               {"", "vae."});
}

TEST_CASE("original names of HunyuanVideo 1.5, whose resolutions are numbered from the coarsest") {
  check_stored({{"decoder.mid_block.resnets.0.norm1.gamma", "decoder.mid.block_1.norm1.gamma"},
                {"decoder.mid_block.attentions.0.norm.gamma", "decoder.mid.attn_1.norm.gamma"},
                {"decoder.mid_block.attentions.0.to_q.weight", "decoder.mid.attn_1.q.weight"},
                {"decoder.mid_block.attentions.0.proj_out.bias", "decoder.mid.attn_1.proj_out.bias"},
                {"decoder.up_blocks.0.resnets.2.conv1.conv.weight", "decoder.up.0.block.2.conv1.conv.weight"},
                {"decoder.up_blocks.0.upsamplers.0.conv.conv.bias", "decoder.up.0.upsample.conv.conv.bias"},
                {"decoder.up_blocks.4.resnets.0.norm2.gamma", "decoder.up.4.block.0.norm2.gamma"},
                {"decoder.conv_in.conv.weight", "decoder.conv_in.conv.weight"},
                {"decoder.norm_out.gamma", "decoder.norm_out.gamma"},
                {"decoder.conv_out.conv.bias", "decoder.conv_out.conv.bias"}});
}

TEST_CASE("original names of LTX, whose blocks and upsamplings are one sequence") {
  check_stored(
      {{"decoder.mid_block.resnets.0.conv1.conv.weight",
        "decoder.up_blocks.0.res_blocks.0.conv1.conv.weight"},
       {"decoder.up_blocks.0.upsamplers.0.conv.conv.weight", "decoder.up_blocks.1.conv.conv.weight"},
       {"decoder.up_blocks.0.resnets.4.conv2.conv.bias", "decoder.up_blocks.2.res_blocks.4.conv2.conv.bias"},
       {"decoder.up_blocks.1.upsamplers.0.conv.conv.bias", "decoder.up_blocks.3.conv.conv.bias"},
       {"decoder.up_blocks.1.resnets.0.conv_shortcut.weight",
        "decoder.up_blocks.4.res_blocks.0.conv_shortcut.weight"},
       {"decoder.up_blocks.2.resnets.0.conv1.conv.bias", "decoder.up_blocks.6.res_blocks.0.conv1.conv.bias"},
       {"decoder.conv_in.conv.weight", "decoder.conv_in.conv.weight"},
       {"latents_mean", "per_channel_statistics.mean-of-means"},
       {"latents_std", "per_channel_statistics.std-of-means"}},
      {"vae."}, {"vae.decoder.up_blocks.5.conv.conv.bias", "audio_vae.decoder.mid.block_1.norm1.weight"});
  check_stored(
      {{"decoder.up_blocks.0.resnets.0.conv1.conv.weight",
        "decoder.up_blocks.1.res_blocks.0.conv1.conv.weight"},
       {"decoder.up_blocks.1.upsamplers.0.conv.conv.weight", "decoder.up_blocks.2.conv.conv.weight"},
       {"decoder.up_blocks.2.conv_in.conv1.conv.weight", "decoder.up_blocks.4.conv1.conv.weight"},
       {"decoder.up_blocks.2.conv_in.norm3.weight", "decoder.up_blocks.4.norm3.norm.weight"},
       {"decoder.up_blocks.2.conv_in.conv_shortcut.conv.weight", "decoder.up_blocks.4.conv_shortcut.weight"},
       {"decoder.up_blocks.2.upsamplers.0.conv.conv.weight", "decoder.up_blocks.5.conv.conv.weight"},
       {"decoder.up_blocks.2.resnets.0.conv1.conv.weight",
        "decoder.up_blocks.6.res_blocks.0.conv1.conv.weight"}},
      {""},
      {"decoder.up_blocks.0.res_blocks.0.conv1.conv.weight",
       "decoder.up_blocks.3.res_blocks.0.conv1.conv.weight"});
}

}  // namespace
}  // namespace headroom
