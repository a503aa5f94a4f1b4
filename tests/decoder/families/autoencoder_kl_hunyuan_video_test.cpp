#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
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

json changed_hunyuan_video(const char* key, const json& value) {
  return test::changed(test::tiny_hunyuan_video_config(), key, value);
}

TEST_CASE("HunyuanVideo's decoder has the parameters of diffusers'") {
  const Model model = resolve_model("hunyuan-video");
  CHECK(latent_extent(model, 1280, 720, 129) == Extent{33, 90, 160});
  const auto shape = [&](const char* name) {
    return parameters_of(model.graph, op_named(model.graph, name))[0].shape;
  };
  CHECK(shape("post_quant_conv") == std::vector<int64_t>{16, 16, 1, 1, 1});
  CHECK(shape("decoder.conv_in.conv") == std::vector<int64_t>{512, 16, 3, 3, 3});
  CHECK(shape("decoder.up_blocks.2.resnets.0.conv_shortcut.conv") == std::vector<int64_t>{256, 512, 1, 1, 1});
  CHECK(shape("decoder.up_blocks.1.upsamplers.0.conv.conv") == std::vector<int64_t>{512, 512, 3, 3, 3});
}

TEST_CASE("the coarse upsamplings double rows and columns, the last two the frames") {
  const Model model = resolve_model("hunyuan-video");
  const auto scale = [&](size_t block) {
    const Op& op =
        op_named(model.graph, "decoder.up_blocks." + std::to_string(block) + ".upsamplers.0.conv.conv");
    return model.graph.tensor(op.output).scale;
  };
  CHECK(scale(0) == Axes<int32_t>{1, 2, 2});
  CHECK(scale(1) == Axes<int32_t>{2, 4, 4});
  CHECK(scale(2) == Axes<int32_t>{4, 8, 8});
  CHECK(model.graph.find_op("decoder.up_blocks.3.upsamplers.0.conv.conv") == OpId{-1});
  // Frames without rows and columns.
  const Model wide = model_of(changed_hunyuan_video("spatial_compression_ratio", 1));
  CHECK(wide.graph.tensor(wide.graph.output()).scale == Axes<int32_t>{2, 1, 1});
  const Op& conv = op_named(wide.graph, "decoder.up_blocks.0.upsamplers.0.conv.conv");
  CHECK(conv.kernel == Axes<int32_t>{3, 3, 3});
  CHECK(conv.factor == Axes<int32_t>{1, 1, 1});
}

TEST_CASE("all its convolutions of several taps replicate what they read outside") {
  const Graph graph = resolve_model("hunyuan-video").graph;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::attention) CHECK(op.frames == AttentionFrames::up_to_own);
    if (op.kind == OpKind::statistics) CHECK_FALSE(op.by_frame);
    if (op.kind != OpKind::conv || op.kernel.y == 1) continue;
    CAPTURE(op.name);
    CHECK(edges_read(op) == Edges::replicate);
    CHECK(op.convolution.before_first == BeforeFirst::first_frame);
  }
}

TEST_CASE("its activation is that of the residual blocks, the output has SiLU, as in diffusers") {
  const Model model = model_of(changed_hunyuan_video("act_fn", "relu"));
  CHECK(op_named(model.graph, "decoder.mid_block.resnets.1.norm2").activation == Activation::relu);
  CHECK(op_named(model.graph, "decoder.up_blocks.0.resnets.0.norm1").activation == Activation::relu);
  CHECK(op_named(model.graph, "decoder.conv_norm_out").activation == Activation::silu);
}

TEST_CASE("values of AutoencoderKLHunyuanVideo that are not supported are refused by their key") {
  refuses(changed_hunyuan_video("temporal_compression_ratio", 8),
          {"config.json: temporal_compression_ratio", "4", "8"});
  refuses(changed_hunyuan_video("up_block_types", {"HunyuanVideoUpBlock3D", "UpDecoderBlock2D"}),
          {"up_block_types[1]", "UpDecoderBlock2D", "HunyuanVideoUpBlock3D"});
  refuses(changed_hunyuan_video("up_block_types", {"HunyuanVideoUpBlock3D"}), {"up_block_types", "2", "1"});
  refuses(changed_hunyuan_video("block_out_channels", {8, 18}),
          {"block_out_channels", "norm_num_groups = 4"});
  refuses(changed_hunyuan_video("block_out_channels", json::array()), {"block_out_channels", "at least one"});
  refuses(changed_hunyuan_video("act_fn", "tanh"), {"act_fn", "tanh"});
  refuses(changed_hunyuan_video("scaling_factor", 0), {"scaling_factor", "other than 0"});
}

}  // namespace
}  // namespace headroom
