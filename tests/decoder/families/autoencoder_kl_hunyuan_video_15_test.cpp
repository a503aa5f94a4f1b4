#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/operation.h"
#include "tests/support/op_named.h"
#include "tests/support/refused_config.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::model_of;
using test::op_named;
using test::refuses;

json changed_hunyuan_video_15(const char* key, const json& value) {
  return test::changed(test::tiny_hunyuan_video_15_config(), key, value);
}

TEST_CASE("HunyuanVideo 1.5's decoder has the parameters of diffusers'") {
  const Model model = resolve_model("hunyuan-video-1.5");
  CHECK(latent_extent(model, 1280, 720, 121) == Extent{31, 45, 80});
  const auto shape = [&](const char* name) {
    return parameters_of(model.graph, op_named(model.graph, name))[0].shape;
  };
  CHECK(shape("decoder.conv_in.conv") == std::vector<int64_t>{1024, 32, 3, 3, 3});
  CHECK(shape("decoder.mid_block.attentions.0.to_q") == std::vector<int64_t>{1024, 1024, 1, 1, 1});
  CHECK(shape("decoder.mid_block.attentions.0.norm") == std::vector<int64_t>{1024, 1, 1, 1});
  CHECK(shape("decoder.up_blocks.1.upsamplers.0.conv.conv") == std::vector<int64_t>{4096, 1024, 3, 3, 3});
  CHECK(shape("decoder.up_blocks.2.upsamplers.0.conv.conv") == std::vector<int64_t>{1024, 512, 3, 3, 3});
  CHECK(model.graph.find_op("decoder.up_blocks.2.resnets.0.conv_shortcut") == OpId{-1});
}

TEST_CASE("a config without keys is diffusers' own") {
  const json config{{"_class_name", "AutoencoderKLHunyuanVideo15"}};
  CHECK(parameter_elements(model_of(config).graph) == 871309571);
}

TEST_CASE("its first upsamplings make frames too, with a shortcut of its own for the first frame") {
  const Model model = resolve_model("hunyuan-video-1.5");
  const auto upsampler = [&](int block, const char* part) -> const Op& {
    return op_named(model.graph, "decoder.up_blocks." + std::to_string(block) + ".upsamplers.0" + part);
  };
  for (int block : {0, 1}) {
    for (const char* part : {".depth_to_space", ".shortcut"}) {
      CAPTURE(block, part);
      CHECK(upsampler(block, part).factor == Axes<int32_t>{2, 2, 2});
      CHECK(upsampler(block, part).depth_order == DepthOrder::pixel_first);
    }
    CHECK_FALSE(upsampler(block, ".conv.conv").convolution.shortcut);
  }
  for (int block : {2, 3}) {
    CAPTURE(block);
    CHECK(upsampler(block, ".depth_to_space").factor == Axes<int32_t>{1, 2, 2});
    const ConvolutionTraits& traits = upsampler(block, ".conv.conv").convolution;
    CHECK(traits.shortcut);
    CHECK(traits.stored_order == StoredOrder::row_column_channel);
  }
  CHECK(model.graph.find_op("decoder.up_blocks.4.upsamplers.0.conv.conv") == OpId{-1});
}

TEST_CASE("all its convolutions of several taps replicate the picture and the first frame") {
  const Graph graph = resolve_model("hunyuan-video-1.5").graph;
  for (const Op& op : graph.ops()) {
    CAPTURE(op.name);
    if (op.kind == OpKind::attention) CHECK(op.frames == AttentionFrames::up_to_own);
    if (op.kind != OpKind::conv || op.kernel.y == 1) continue;
    CHECK(edges_read(op) == Edges::replicate);
    CHECK(op.convolution.before_first == BeforeFirst::first_frame);
  }
}

TEST_CASE("HunyuanImage's refiner makes no frames, and each frame attends to all") {
  const Model model = resolve_model("hunyuan-image-refiner");
  CHECK(latent_extent(model, 2048, 1536, 3) == Extent{3, 96, 128});
  const Graph video = resolve_model("hunyuan-video-1.5").graph;
  REQUIRE(model.graph.ops().size() == video.ops().size());
  for (const Op& op : model.graph.ops()) {
    CAPTURE(op.name);
    const Op& of_video = op_named(video, op.name);
    CHECK(op.factor.t == 1);
    CHECK(op.frames_in_depth == of_video.frames_in_depth);
    if (op.kind == OpKind::attention) CHECK(op.frames == AttentionFrames::all);
    const std::vector<Parameter> own = parameters_of(model.graph, op),
                                 theirs = parameters_of(video, of_video);
    REQUIRE(own.size() == theirs.size());
    for (size_t i = 0; i < own.size(); ++i) CHECK(own[i].shape == theirs[i].shape);
  }
  const OpId attention = model.graph.find_op("decoder.mid_block.attentions.0.attention");
  for (int64_t frame : {0, 2})
    CHECK(attended_keys(model.graph, model.graph.op(attention), {3, 4, 5}, frame) == 3 * 4 * 5);
}

TEST_CASE("attention_frames makes each frame attend to all, as in ComfyUI") {
  const auto frames_of = [](const json& config) {
    return op_named(model_of(config).graph, "decoder.mid_block.attentions.0.attention").frames;
  };
  CHECK(frames_of(changed_hunyuan_video_15("attention_frames", "all")) == AttentionFrames::all);
  CHECK(frames_of(changed_hunyuan_video_15("attention_frames", "up_to_own")) == AttentionFrames::up_to_own);
  refuses(changed_hunyuan_video_15("attention_frames", "each"),
          {"attention_frames", "expected all or up_to_own, found 'each'"});
}

TEST_CASE("upsamplings that keep their channels are followed by blocks that change them") {
  json config = changed_hunyuan_video_15("upsample_match_channel", false);
  config["block_out_channels"] = {24, 16};
  const Model model = model_of(config);
  CHECK(op_named(model.graph, "decoder.up_blocks.0.upsamplers.0.conv.conv").convolution.shortcut == false);
  const Op& shortcut = op_named(model.graph, "decoder.up_blocks.1.resnets.0.conv_shortcut");
  CHECK(parameters_of(model.graph, shortcut)[0].shape == std::vector<int64_t>{24, 16, 1, 1, 1});
}

TEST_CASE("values of AutoencoderKLHunyuanVideo15 that are not supported are refused by their key") {
  const auto widths = [](const json& value) { return changed_hunyuan_video_15("block_out_channels", value); };
  refuses(widths({8, 18}), {"config.json: block_out_channels", "latent_channels = 4", "18"});
  refuses(widths({16}), {"block_out_channels", "more widths"});
  refuses(widths({8, 12}), {"block_out_channels", "12 channels cannot be repeated into 8 times 8"});
  // Half as often, of the first frame, is not once.
  refuses(widths({4, 32}), {"block_out_channels", "32 channels cannot be repeated into 8 times 4"});
  json of_pictures = widths({8, 64});
  of_pictures["temporal_compression_ratio"] = 1;
  refuses(of_pictures, {"block_out_channels", "64 channels cannot be repeated into 4 times 8"});
  refuses(widths(json::array()), {"block_out_channels", "at least one"});
  refuses(changed_hunyuan_video_15("scaling_factor", 0), {"scaling_factor", "other than 0"});
}

}  // namespace
}  // namespace headroom
