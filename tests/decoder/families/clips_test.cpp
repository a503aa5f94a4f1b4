#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "tests/support/random.h"
#include "tests/support/refused_config.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::changed;
using test::model_of;
using test::refuses;

TEST_CASE("a decoder of one frame has kernels of one frame, and no frames to unfold") {
  for (const char* name : {"wan2.1", "wan2.1-upscale2x", "wan2.2", "qwen-image", "open-sora-plan",
                           "hunyuan-video", "hunyuan-video-1.5", "hunyuan-image-refiner", "ltx-2", "ltx-2.3",
                           "cogvideox", "ltx-video", "ltx-video-0.9.5", "seedvr2", "taew2.1", "taeltx2"}) {
    CAPTURE(name);
    const Model clips = resolve_model(name), picture = for_frames(clips, 1);
    CHECK(for_frames(clips, 5).graph.ops().size() == clips.graph.ops().size());
    CHECK(for_frames(picture, 1).graph.ops().size() == picture.graph.ops().size());
    CHECK_THROWS_WITH(latent_extent(picture, 64, 64, 5), Catch::Contains("single pictures"));
    double flops = 0, before = 0;
    for (const Op& op : clips.graph.ops()) before += flops_per_position(clips.graph, op, {1, 8, 8});
    for (const Op& op : picture.graph.ops()) {
      CAPTURE(op.name);
      flops += flops_per_position(picture.graph, op, {1, 8, 8});
      CHECK(op.kernel.t == 1);
      CHECK(op.factor.t == 1);
      CHECK_FALSE(needs_all_frames(op));
      CHECK(op.kind != OpKind::unfold_frames);
      CHECK(op.name.find("time_conv") == std::string::npos);
      const OpId same = clips.graph.find_op(op.name);
      REQUIRE(same != OpId{-1});
      const Op& old = clips.graph.op(same);
      CHECK(picture.graph.tensor(op.output).cut_point == clips.graph.tensor(old.output).cut_point);
      // The weights are the same.
      const std::vector<Parameter> now = parameters_of(picture.graph, op);
      const std::vector<Parameter> then = parameters_of(clips.graph, old);
      REQUIRE(now.size() == then.size());
      for (size_t i = 0; i < now.size(); ++i) {
        CHECK(now[i].name == then[i].name);
        CHECK(now[i].shape == then[i].shape);
      }
    }
    // TAEHV needs all frames of a latent frame, up to the last doubling.
    CHECK(flops < (clips.class_name == "TAEHV" ? 0.8 : 0.45) * before);
    const Axes<int32_t> scale = clips.graph.tensor(clips.graph.output()).scale;
    CHECK(picture.graph.tensor(picture.graph.output()).scale == Axes<int32_t>{1, scale.y, scale.x});
  }
  CHECK(for_frames(resolve_model("sdxl"), 1).graph.ops().size() == resolve_model("sdxl").graph.ops().size());
}

TEST_CASE("kernels that have lost their time axis decode and encode single pictures") {
  const json config = changed(test::tiny_wan_config(), "kernel_frames", 1);
  const Model model = model_of(config), picture = for_frames(model_of(test::tiny_wan_config()), 1);
  CHECK_FALSE(model.decodes_clips);
  CHECK(model.graph.ops().size() == picture.graph.ops().size());
  for (const Op& op : model.graph.ops()) {
    for (const Parameter& parameter : parameters_of(model.graph, op)) CHECK(parameter.shape.size() < 5);
  }
  CHECK(wrong_frames(model, 5).find("single pictures") != std::string::npos);
  CHECK(picture_scale(for_direction(model, Direction::encode).graph).t == 1);
  refuses(changed(test::tiny_wan_config(), "kernel_frames", 3), {"kernel_frames"});
}

TEST_CASE("queries, keys and values of Wan's attention are parts of one module") {
  const Model model = model_of(test::tiny_wan_config());
  const std::string attention = "decoder.mid_block.attentions.0";
  const auto names_of = [&](const std::string& op) {
    std::vector<std::string> names;
    for (const Parameter& parameter :
         parameters_of(model.graph, model.graph.op(model.graph.find_op(attention + op))))
      names.push_back(parameter.name.substr(attention.size()));
    return names;
  };
  CHECK(names_of(".to_q") == std::vector<std::string>{".to_qkv.weight", ".to_qkv.bias"});
  CHECK(names_of(".proj") ==
        std::vector<std::string>{".to_qkv.weight", ".to_qkv.bias", ".proj.weight", ".proj.bias"});
  const Op& queries = model.graph.op(model.graph.find_op(attention + ".to_q"));
  const Op& output = model.graph.op(model.graph.find_op(attention + ".proj"));
  CHECK(parameters_of(model.graph, queries)[0].shape == std::vector<int64_t>{48, 16, 1, 1});
  CHECK(parameters_of(model.graph, queries)[1].shape == std::vector<int64_t>{48});
  CHECK(parameters_of(model.graph, output)[2].shape == std::vector<int64_t>{16, 16, 1, 1});
  const auto part = [](const ModulePart& module) { return std::pair(module.part, module.parts); };
  CHECK(part(queries.convolution.product.first) == std::pair(0, 3));
  CHECK(part(queries.convolution.product.second) == std::pair(1, 3));
  CHECK(part(output.convolution.product.first) == std::pair(2, 3));
  CHECK(part(output.convolution.product.second) == std::pair(0, 1));
  const Op& norm = model.graph.op(model.graph.find_op(attention + ".norm"));
  CHECK(parameters_of(model.graph, norm)[0].shape == std::vector<int64_t>{16, 1, 1});
}

TEST_CASE("Wan's upscaling decoder makes pixels of channels, and without its key it returns the channels") {
  const Model upscaling = resolve_model("wan2.1-upscale2x");
  CHECK(latent_extent(upscaling, 1664, 960, 81) == Extent{21, 60, 104});
  CHECK(upscaling.graph.tensor(upscaling.graph.output()).channels == 3);
  CHECK(upscaling.latents_std == resolve_model("wan2.1").latents_std);
  json config = test::tiny_wan_config();
  config["out_channels"] = 12;
  for (const json& none : {json(nullptr), json(1)}) {
    const Model plain = model_of(changed(config, "pixel_shuffle", none));
    CHECK(plain.graph.tensor(plain.graph.output()).channels == 12);
    CHECK(plain.graph.tensor(plain.graph.output()).scale == Axes<int32_t>{2, 4, 4});
  }
}

TEST_CASE("Open-Sora-Plan's decoder reads the parameters that its modules have") {
  const Model model = resolve_model("open-sora-plan");
  CHECK(model.scaling_factor == 0.18215);
  CHECK(model.graph.tensor(model.graph.output()).scale == Axes<int32_t>{4, 8, 8});
  const auto parameters = [&](const char* name) {
    return parameters_of(model.graph, model.graph.op(model.graph.find_op(name)));
  };
  CHECK(parameters("post_quant_conv.conv")[0].shape == std::vector<int64_t>{4, 4, 1, 1, 1});
  CHECK(parameters("decoder.conv_in.conv")[0].shape == std::vector<int64_t>{512, 4, 3, 3, 3});
  CHECK(parameters("decoder.up.1.block.0.nin_shortcut.conv")[0].shape ==
        std::vector<int64_t>{256, 512, 1, 1, 1});
  CHECK(parameters("decoder.up.3.upsample.conv.conv")[0].shape == std::vector<int64_t>{512, 512, 1, 3, 3});
  CHECK(model.graph.find_op("decoder.up.2.time_upsample") != OpId{-1});

  const Model mixed = model_of(test::tiny_causal_config());
  const Op& mix = mixed.graph.op(mixed.graph.find_op("decoder.up.1.time_upsample.conv.conv"));
  CHECK(parameters_of(mixed.graph, mix).back().name == "decoder.up.1.time_upsample.mix_factor");
  CHECK(parameters_of(mixed.graph, mix).back().shape == std::vector<int64_t>{1});
}

TEST_CASE("attention stands where the resolution that it is asked for is reached") {
  json config = test::tiny_causal_config();
  config["attn_resolutions"] = {16};
  const Model model = model_of(config);
  CHECK(model.graph.find_op("decoder.up.0.attn.1.attention") != OpId{-1});
  CHECK(model.graph.find_op("decoder.up.1.attn.0.attention") == OpId{-1});
}

TEST_CASE("a config with other numbers of latent channels and of their means loads, as in diffusers") {
  json wan = test::tiny_wan_config();
  wan["z_dim"] = 6;
  wan["latents_mean"] = std::vector<double>(16, 0.5);  // diffusers' default, which it saves whatever z_dim is
  wan["latents_std"] = std::vector<double>(16, 2.0);
  const Model model = model_of(wan);
  CHECK(model.latent_channels == 6);
  CHECK(model.latents_mean.size() == 16);
  CHECK(model.latents_std.size() == 16);
}

TEST_CASE("configs of clips that are not supported are refused by key") {
  const json wan = test::tiny_wan_config(), causal = test::tiny_causal_config();
  refuses(changed(wan, "patch_size", 2), {"patch_size", "out_channels", "3"});
  refuses(changed(wan, "patch_size", 1000), {"patch_size"});
  refuses(changed(wan, "pixel_shuffle", 2), {"pixel_shuffle", "out_channels", "a multiple of 4, found 3"});
  refuses(changed(wan, "pixel_shuffle", 1000), {"pixel_shuffle"});
  refuses(changed(test::tiny_wan_22_config(), "pixel_shuffle", 2),
          {"pixel_shuffle", "only one of patch_size and pixel_shuffle"});
  json residual = test::tiny_wan_22_config();
  residual["dim_mult"] = {1, 2, 3};
  refuses(residual, {"dim_mult", "3", "2"});
  refuses(changed(wan, "temperal_downsample", {true}), {"temperal_downsample", "2", "1"});
  refuses(changed(wan, "dim_mult", json::array()), {"dim_mult"});
  refuses(changed(wan, "base_dim", 1 << 20), {"base_dim"});
  refuses(changed(causal, "hidden_size", 40), {"hidden_size", "32"});
  refuses(changed(causal, "decoder_attention", "LinAttnBlock"), {"decoder_attention", "AttnBlock3DFix"});
  refuses(changed(causal, "decoder_temporal_upsample", {"", "TimeUpsampleResAdv2x"}),
          {"decoder_temporal_upsample[1]", "TimeUpsampleRes2x"});
  refuses(changed(causal, "decoder_spatial_upsample", {""}), {"decoder_spatial_upsample", "2"});
  refuses(changed(causal, "decoder_resnet_blocks", {"ResnetBlock3D", 3}), {"decoder_resnet_blocks[1]"});
  refuses(changed(causal, "hidden_size_mult", {1, 2, 1000}), {"hidden_size_mult[2]"});
  json deep = causal;
  deep["hidden_size_mult"] = {1, 1, 1, 1, 1};
  deep["decoder_resnet_blocks"] = std::vector<std::string>(5, "ResnetBlock3D");
  deep["decoder_spatial_upsample"] = std::vector<std::string>(5, "Spatial2xTime2x3DUpsample");
  deep["decoder_temporal_upsample"] = std::vector<std::string>(5, "TimeUpsample2x");
  refuses(deep, {"doublings of the frames", "10"});
}

TEST_CASE("a number of frames that no latent has is refused with the nearest one that has") {
  const Model wan = resolve_model("wan2.1");
  CHECK(latent_extent(wan, 832, 480, 81) == Extent{21, 60, 104});
  CHECK(latent_extent(wan, 832, 480, 1) == Extent{1, 60, 104});
  CHECK(input_shape(wan, {1, 60, 104}, 2) == std::vector<int64_t>{2, 16, 60, 104});
  CHECK(input_shape(wan, {21, 60, 104}, 2) == std::vector<int64_t>{2, 16, 21, 60, 104});
  for (const auto& [frames, nearest] : {std::pair{80, 81}, {82, 81}, {83, 81}, {84, 85}, {2, 1}, {4, 5}}) {
    try {
      latent_extent(wan, 832, 480, frames);
      FAIL("accepted " << frames);
    } catch (const InputError& error) {
      CHECK_THAT(error.what(),
                 Catch::Contains("--frames") && Catch::EndsWith("the nearest is " + std::to_string(nearest)));
    }
  }
  CHECK_THROWS_AS(latent_extent(wan, 832, 480, 0), InputError);
  CHECK_THROWS_AS(latent_extent(wan, 832, 480, int64_t{1} << 40), InputError);
  CHECK_THROWS_WITH(latent_extent(resolve_model("sdxl"), 512, 512, 5), Catch::Contains("single pictures"));
}

TEST_CASE("frames at another scale: chunks of a coarse tensor are whole frames of a fine one") {
  CHECK(frames_at_scale({0, 1}, 1, 4) == Interval{0, 1});
  CHECK(frames_at_scale({1, 3}, 1, 4) == Interval{1, 9});
  CHECK(frames_at_scale({0, 21}, 1, 4) == Interval{0, 81});
  CHECK(frames_at_scale({5, 9}, 4, 1) == Interval{2, 3});
  CHECK(frames_at_scale({0, 0}, 1, 4) == Interval{0, 0});
  test::Random random(8100);
  for (int i = 0; i < 300; ++i) {
    const auto factor = static_cast<int32_t>(random.integer(1, 4));
    const int64_t frames = random.integer(1, 30), begin = random.integer(0, frames - 1);
    const Interval chunk{begin, random.integer(begin + 1, frames)};
    const Interval fine = frames_at_scale(chunk, 1, factor);
    CAPTURE(factor, chunk.begin, chunk.end);
    CHECK(frames_at_scale(fine, factor, 1) == chunk);
    // Neighbouring chunks meet.
    CHECK(fine.begin == frames_at_scale({0, begin}, 1, factor).end);
    // A fine frame belongs to the coarse one that it is made of.
    for (int64_t f = fine.begin; f < fine.end; ++f) {
      const Interval of = frames_at_scale({f, f + 1}, factor, 1);
      CHECK(of.length() == 1);
      CHECK(of.begin == (f == 0 ? 0 : (f - 1) / factor + 1));
    }
  }
}

}  // namespace
}  // namespace headroom
