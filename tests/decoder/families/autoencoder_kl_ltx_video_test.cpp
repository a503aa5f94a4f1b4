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

json changed_ltx2(const char* key, const json& value) {
  return test::changed(test::tiny_ltx2_video_config(), key, value);
}

TEST_CASE("the decoders of LTX-2 and LTX-Video have the parameters of diffusers'") {
  const Model ltx2 = resolve_model("ltx-2"), ltx = resolve_model("ltx-video");
  CHECK(latent_extent(ltx2, 768, 512, 121) == Extent{16, 16, 24});
  const auto shape = [](const Model& model, const char* name) {
    return parameters_of(model.graph, op_named(model.graph, name))[0].shape;
  };
  CHECK(shape(ltx2, "decoder.up_blocks.0.upsamplers.0.conv.conv") ==
        std::vector<int64_t>{4096, 1024, 3, 3, 3});
  CHECK(shape(ltx2, "decoder.conv_out.conv") == std::vector<int64_t>{48, 128, 3, 3, 3});
  CHECK(shape(ltx, "decoder.up_blocks.2.conv_in.conv_shortcut.conv") ==
        std::vector<int64_t>{256, 512, 1, 1, 1});
  CHECK(shape(ltx, "decoder.up_blocks.2.conv_in.norm3") == std::vector<int64_t>{512});
  CHECK(parameters_of(ltx.graph, op_named(ltx.graph, "decoder.norm_out")).empty());
}

TEST_CASE("kernels of LTX's decoders look ahead by a frame unless they are causal") {
  for (const bool causal : {false, true}) {
    const Model model = model_of(changed_ltx2("decoder_causal", causal));
    for (const Op& op : model.graph.ops()) {
      if (op.kind != OpKind::conv) continue;
      CAPTURE(op.name);
      CHECK(op.kernel == Axes<int32_t>{3, 3, 3});
      CHECK(reach(op).after.t == (causal ? 0 : 1));
      CHECK(reach(op).before.t == (causal ? 2 : 1));
      CHECK(op.convolution.before_first == BeforeFirst::first_frame);
      CHECK(edges_read(op) == Edges::reflect);
    }
  }
  CHECK(edges_read(op_named(model_of(changed_ltx2("decoder_spatial_padding_mode", "zeros")).graph,
                            "decoder.conv_in.conv")) == Edges::zeros);
  CHECK(edges_read(op_named(resolve_model("ltx-video").graph, "decoder.conv_in.conv")) == Edges::zeros);
}

TEST_CASE("one truth stands for all of LTX's resolutions") {
  const auto scale = [](const json& config) {
    const Model model = model_of(config);
    return model.graph.tensor(model.graph.output()).scale;
  };
  json config = changed_ltx2("decoder_spatio_temporal_scaling", true);
  config["upsample_residual"] = false;
  CHECK(scale(config) == Axes<int32_t>{4, 4, 4});
  const Graph graph = model_of(config).graph;
  for (const Op& op : graph.ops()) CHECK_FALSE(op.convolution.shortcut);
  // Lists of upsampling kinds begin with the coarsest resolution, all other lists with the finest.
  config = changed_ltx2("upsample_type", {"spatial", "temporal"});
  CHECK(scale(config) == Axes<int32_t>{2, 2, 2});
  CHECK(op_named(model_of(config).graph, "decoder.up_blocks.0.upsamplers.0").factor ==
        Axes<int32_t>{1, 2, 2});
}

TEST_CASE("a decoder that is given a time step has norms with a scale and a shift") {
  const Model model = model_of(test::conditioned_ltx_video_config());
  int64_t norms = 0;
  for (const Op& op : model.graph.ops()) {
    if (op.kind != OpKind::rms_norm) continue;
    ++norms;
    CHECK(op.gamma_axes == kWeightAndBias);
    CHECK(op.activation == Activation::silu);
    CHECK_FALSE(op.centred);
  }
  CHECK(norms == 2 * 4 + 1);
  CHECK(op_named(model.graph, "decoder.norm_out").kind == OpKind::rms_norm);
  json widens = test::conditioned_ltx_video_config();
  widens["decoder_block_out_channels"] = {8, 16, 16};
  widens["upsample_factor"] = {1, 1, 1};
  refuses(widens, {"timestep_conditioning", "one width", "16 and 8"});
}

TEST_CASE("values of LTX's decoders that are not supported are refused by their key") {
  refuses(changed_ltx2("timestep_conditioning", true), {"timestep_conditioning", "time step"});
  refuses(changed_ltx2("decoder_inject_noise", {false, true, false}), {"decoder_inject_noise", "noise"});
  refuses(changed_ltx2("patch_size_t", 2), {"patch_size_t", "1"});
  refuses(changed_ltx2("decoder_spatial_padding_mode", "circular"),
          {"decoder_spatial_padding_mode", "circular", "reflect"});
  refuses(changed_ltx2("upsample_type", {"spatial", "linear"}), {"upsample_type", "linear"});
  refuses(changed_ltx2("upsample_factor", {2, 4}), {"upsample_factor", "8 channels", "16"});
  refuses(changed_ltx2("upsample_factor", {2}), {"upsample_factor", "2", "1"});
  refuses(changed_ltx2("decoder_block_out_channels", {12, 24}), {"upsample_residual", "positions"});
  refuses(changed_ltx2("decoder_layers_per_block", {1, 1}), {"decoder_layers_per_block", "3", "2"});
  refuses(changed_ltx2("decoder_block_out_channels", json::array()), {"decoder_block_out_channels"});
  refuses(changed_ltx2("scaling_factor", 0), {"scaling_factor", "other than 0"});
}

}  // namespace
}  // namespace headroom
