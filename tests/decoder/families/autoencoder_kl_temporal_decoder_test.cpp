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

json changed_temporal_decoder(const char* key, const json& value) {
  return test::changed(test::tiny_temporal_decoder_config(), key, value);
}

TEST_CASE("Stable Video Diffusion's decoder has the parameters of diffusers'") {
  const Model model = resolve_model("svd");
  CHECK(latent_extent(model, 1024, 576, 25) == Extent{25, 72, 128});
  CHECK_FALSE(model.force_upcast);
  const auto parameters = [&](const char* name) {
    return parameters_of(model.graph, op_named(model.graph, name));
  };
  const std::string block = "decoder.up_blocks.2.resnets.0.";
  const auto conv = parameters((block + "temporal_res_block.conv2").c_str());
  CHECK(conv[0].shape == std::vector<int64_t>{256, 256, 3, 1, 1});
  CHECK(conv[2].name == block + "time_mixer.mix_factor");
  CHECK(conv[2].shape == std::vector<int64_t>{1});
  CHECK(parameters((block + "spatial_res_block.conv_shortcut").c_str())[0].shape ==
        std::vector<int64_t>{256, 512, 1, 1});
  CHECK(parameters("decoder.time_conv_out")[0].shape == std::vector<int64_t>{3, 3, 3, 1, 1});
}

TEST_CASE("its spatial norms are of each frame, its temporal ones of the clip, with other epsilons") {
  const Graph graph = model_of(test::tiny_temporal_decoder_config()).graph;
  int spatial = 0, temporal = 0;
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::statistics) continue;
    CAPTURE(op.name);
    const bool of_clip = op.name.find("temporal_res_block") != std::string::npos;
    CHECK(op.by_frame != of_clip);
    CHECK(op.epsilon == (of_clip ? 1e-5 : 1e-6));
    ++(of_clip ? temporal : spatial);
  }
  CHECK(temporal == 16);
  CHECK(spatial == 18);
}

TEST_CASE("its kernels over the time read zeros at both ends, and a picture needs their middle taps alone") {
  const Model clips = model_of(test::tiny_temporal_decoder_config()), picture = for_frames(clips, 1);
  const char* name = "decoder.mid_block.resnets.1.temporal_res_block.conv1";
  const Op &over_time = op_named(clips.graph, name), &of_picture = op_named(picture.graph, name);
  CHECK(over_time.kernel == Axes<int32_t>{3, 1, 1});
  CHECK(over_time.convolution.frames_ahead == 1);
  CHECK(over_time.convolution.before_first == BeforeFirst::zeros);
  CHECK(of_picture.kernel == Axes<int32_t>{1, 1, 1});
  CHECK(of_picture.convolution.stored_frames == 3);
  CHECK(of_picture.convolution.stored_ahead == 1);
  CHECK(of_picture.convolution.frames_ahead == 0);
}

TEST_CASE("it has an attention if the middle has a second block, and never runs a third") {
  const auto has = [](int64_t layers, const char* name) {
    const Graph graph = model_of(changed_temporal_decoder("layers_per_block", layers)).graph;
    return graph.find_op(name) != OpId{-1};
  };
  CHECK_FALSE(has(1, "decoder.mid_block.attentions.0.attention"));
  CHECK(has(2, "decoder.mid_block.attentions.0.attention"));
  CHECK(has(3, "decoder.mid_block.resnets.1.spatial_res_block.conv1"));
  CHECK_FALSE(has(3, "decoder.mid_block.resnets.2.spatial_res_block.conv1"));
}

TEST_CASE("values of AutoencoderKLTemporalDecoder that are not supported are refused by their key") {
  refuses(changed_temporal_decoder("block_out_channels", {32, 40}), {"block_out_channels[1]", "32", "40"});
  refuses(changed_temporal_decoder("block_out_channels", json::array()), {"block_out_channels", "one width"});
  refuses(changed_temporal_decoder("layers_per_block", 0), {"layers_per_block"});
  refuses(changed_temporal_decoder("scaling_factor", 0), {"scaling_factor", "other than 0"});
}

}  // namespace
}  // namespace headroom
