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

json changed_seedvr2(const char* key, const json& value) {
  return test::changed(test::tiny_seedvr2_config(), key, value);
}

std::string upsampler(size_t block, const char* part) {
  return "decoder.up_blocks." + std::to_string(block) + ".upsamplers.0." + part;
}

TEST_CASE("SeedVR2's decoder has the parameters of the published checkpoint") {
  const Model model = resolve_model("seedvr2");
  CHECK(latent_extent(model, 1280, 720, 129) == Extent{33, 90, 160});
  CHECK(model.shift_factor == 0);
  CHECK(model.graph.find_op("post_quant_conv") == OpId{-1});
  const auto shape = [&](const std::string& name) {
    return parameters_of(model.graph, op_named(model.graph, name))[0].shape;
  };
  CHECK(shape("decoder.conv_in") == std::vector<int64_t>{512, 16, 3, 3, 3});
  CHECK(shape("decoder.mid_block.attentions.0.to_out.0") == std::vector<int64_t>{512, 512, 1, 1});
  CHECK(shape("decoder.mid_block.attentions.0.group_norm") == std::vector<int64_t>{512});
  CHECK(shape("decoder.up_blocks.2.resnets.0.conv_shortcut") == std::vector<int64_t>{256, 512, 1, 1, 1});
  CHECK(shape("decoder.up_blocks.3.resnets.2.conv2") == std::vector<int64_t>{128, 128, 3, 3, 3});
  CHECK(shape(upsampler(1, "upscale_conv")) == std::vector<int64_t>{4096, 512, 1, 1, 1});
  CHECK(shape(upsampler(2, "upscale_conv")) == std::vector<int64_t>{1024, 256, 1, 1, 1});
  CHECK(shape(upsampler(2, "conv")) == std::vector<int64_t>{256, 256, 3, 3, 3});
}

TEST_CASE("the first upsamplings double frames too, and the last block has none") {
  const Model model = resolve_model("seedvr2");
  const auto factor = [&](size_t block) {
    const Op& op = op_named(model.graph, upsampler(block, "depth_to_space"));
    CHECK(op.depth_order == DepthOrder::frame_within_pixel);
    CHECK(op.frames_in_depth == op.factor.t);
    return op.factor;
  };
  CHECK(factor(0) == Axes<int32_t>{2, 2, 2});
  CHECK(factor(1) == Axes<int32_t>{2, 2, 2});
  CHECK(factor(2) == Axes<int32_t>{1, 2, 2});
  CHECK(model.graph.find_op(upsampler(3, "conv")) == OpId{-1});
  const Model still = model_of(changed_seedvr2("temporal_scale_num", 0));
  CHECK(still.graph.tensor(still.graph.output()).scale == Axes<int32_t>{1, 2, 2});
}

TEST_CASE("its norms and attention treat each frame on its own, and its convolutions repeat the first") {
  const Graph graph = resolve_model("seedvr2").graph;
  for (const Op& op : graph.ops()) {
    CAPTURE(op.name);
    if (op.kind == OpKind::attention) CHECK(op.frames == AttentionFrames::each);
    if (op.kind == OpKind::statistics) CHECK(op.by_frame);
    if (op.kind != OpKind::conv || op.kernel.y == 1) continue;
    CHECK(op.kernel == Axes<int32_t>{3, 3, 3});
    CHECK(edges_read(op) == Edges::zeros);
    CHECK(op.convolution.before_first == BeforeFirst::first_frame);
  }
}

TEST_CASE("its activation is that of the residual blocks, and the output has SiLU") {
  const Model model = model_of(changed_seedvr2("act_fn", "relu"));
  CHECK(op_named(model.graph, "decoder.mid_block.resnets.1.norm2").activation == Activation::relu);
  CHECK(op_named(model.graph, "decoder.conv_norm_out").activation == Activation::silu);
}

TEST_CASE("values of VideoAutoencoderKLWrapper that are not supported are refused by their key") {
  refuses(changed_seedvr2("time_receptive_field", "half"),
          {"config.json: time_receptive_field", "full", "half"});
  refuses(changed_seedvr2("up_block_types", {"UpDecoderBlock3D", "UpDecoderBlock2D"}),
          {"up_block_types[1]", "UpDecoderBlock2D", "UpDecoderBlock3D"});
  refuses(changed_seedvr2("up_block_types", {"UpDecoderBlock3D"}), {"up_block_types", "2", "1"});
  refuses(changed_seedvr2("block_out_channels", {8, 18}), {"block_out_channels", "norm_num_groups = 4"});
  refuses(changed_seedvr2("block_out_channels", json::array()), {"block_out_channels", "at least one"});
  refuses(changed_seedvr2("act_fn", "tanh"), {"act_fn", "tanh"});
  refuses(changed_seedvr2("scaling_factor", 0), {"scaling_factor", "other than 0"});
}

}  // namespace
}  // namespace headroom
