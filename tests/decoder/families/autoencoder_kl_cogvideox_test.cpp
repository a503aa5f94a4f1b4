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

json changed_cogvideox(const char* key, const json& value) {
  return test::changed(test::tiny_cogvideox_config(), key, value);
}

TEST_CASE("CogVideoX's decoder has the parameters of diffusers'") {
  const Model model = resolve_model("cogvideox");
  CHECK(latent_extent(model, 720, 480, 49) == Extent{13, 60, 90});
  const auto parameters =
      parameters_of(model.graph, op_named(model.graph, "decoder.up_blocks.3.resnets.0.norm1.conv_y_b"));
  REQUIRE(parameters.size() == 4);
  CHECK(parameters[0].name == "decoder.up_blocks.3.resnets.0.norm1.conv_y.conv.weight");
  CHECK(parameters[0].shape == std::vector<int64_t>{256, 16, 1, 1, 1});
  CHECK(parameters[3].name == "decoder.up_blocks.3.resnets.0.norm1.conv_b.conv.bias");
  CHECK(parameters[3].shape == std::vector<int64_t>{256});
}

TEST_CASE("runs of two latent frames share statistics, and the first run has one frame more") {
  const Graph graph = model_of(test::tiny_cogvideox_config()).graph;
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::statistics) continue;
    CAPTURE(op.name);
    CHECK(op.run_frames == 2 * graph.tensor(op.inputs[0]).scale.t);
    CHECK(op.epsilon == 1e-6);
  }
  CHECK(frames_of_run(0, 8, 25) == Interval{0, 9});
  CHECK(frames_of_run(8, 8, 25) == Interval{0, 9});
  CHECK(frames_of_run(9, 8, 25) == Interval{9, 17});
  CHECK(frames_of_run(24, 8, 25) == Interval{17, 25});
  CHECK(frames_of_run(0, 8, 1) == Interval{0, 1});
}

TEST_CASE(
    "clips of an even number of latent frames are refused, because their first run has another length") {
  const Model model = model_of(test::tiny_cogvideox_config());
  for (const int64_t frames : {1, 9, 17, 49}) CHECK(wrong_frames(model, frames).empty());
  CHECK(wrong_frames(model, 5) ==
        "expected 1 plus a multiple of 8, found 5; the nearest is 1. A latent has 1 plus a multiple of 2 "
        "frames");
  CHECK(wrong_frames(model, 6).find("the nearest is 9") != std::string::npos);
}

TEST_CASE("its upsamplings double frames as often as the time is compressed") {
  for (const auto& [ratio, frames] : std::vector<std::pair<double, int32_t>>{{1, 1}, {2, 2}, {4, 4}}) {
    const Graph graph = model_of(changed_cogvideox("temporal_compression_ratio", ratio)).graph;
    CHECK(picture_scale(graph) == Axes<int32_t>{frames, 4, 4});
  }
  // No more than the upsamplings.
  CHECK(picture_scale(model_of(changed_cogvideox("temporal_compression_ratio", 8)).graph).t == 4);
}

TEST_CASE("values of AutoencoderKLCogVideoX that are not supported are refused by their key") {
  refuses(changed_cogvideox("temporal_compression_ratio", 3), {"temporal_compression_ratio", "1, 2, 4 or 8"});
  refuses(changed_cogvideox("use_post_quant_conv", true), {"use_post_quant_conv"});
  refuses(changed_cogvideox("block_out_channels", {8, 8, 10}), {"block_out_channels", "norm_num_groups = 4"});
  refuses(changed_cogvideox("up_block_types", {"CogVideoXUpBlock3D"}), {"up_block_types", "3", "1"});
}

}  // namespace
}  // namespace headroom
