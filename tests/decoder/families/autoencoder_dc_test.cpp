#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/operation.h"
#include "tests/support/refused_config.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::model_of;
using test::refuses;
using test::tiny_dc_config;

json changed_dc(const char* key, const json& value) {
  return test::changed(tiny_dc_config(), key, value);
}

TEST_CASE("Sana's decoder has a barrier for each attention") {
  const Model sana = resolve_model("sana-dc-ae-f32c32");
  CHECK(latent_extent(sana, 1024, 2048, 1) == Extent{1, 64, 32});
  int barriers = 0, cut_points = 0;
  for (const Op& op : sana.graph.ops()) barriers += op.kind == OpKind::key_value_sums ? 1 : 0;
  for (const Tensor& tensor : sana.graph.tensors()) cut_points += tensor.cut_point ? 1 : 0;
  CHECK(barriers == 9);
  CHECK(cut_points == 12);
}

TEST_CASE("an attention's queries, keys and values are one convolution with three weights") {
  const Model model = model_of(tiny_dc_config());
  const Op& qkv = model.graph.op(model.graph.find_op("decoder.up_blocks.2.0.attn.to_qkv"));
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters_of(model.graph, qkv)) {
    names.push_back(parameter.name);
    CHECK(parameter.shape == std::vector<int64_t>{16, 16, 1, 1});
  }
  const std::string attention = "decoder.up_blocks.2.0.attn.";
  CHECK(names == std::vector<std::string>{attention + "to_q.weight", attention + "to_k.weight",
                                          attention + "to_v.weight"});
}

TEST_CASE("what is convolved in groups has parameters and work of its groups") {
  const Model model = model_of(tiny_dc_config());
  const Graph& graph = model.graph;
  const std::string scale = "decoder.up_blocks.2.0.attn.to_qkv_multiscale.0.";
  const Op& gathered = graph.op(graph.find_op(scale + "proj_in"));
  CHECK(parameters_of(graph, gathered).size() == 1);
  CHECK(parameters_of(graph, gathered)[0].shape == std::vector<int64_t>{48, 1, 5, 5});
  CHECK(flops_per_position(graph, gathered, {1, 4, 4}) == 2 * 48 * 25);
  CHECK(reach(gathered) == Halo{{0, 2, 2}, {0, 2, 2}});
  const Op& mixed = graph.op(graph.find_op(scale + "proj_out"));
  CHECK(parameters_of(graph, mixed)[0].shape == std::vector<int64_t>{48, 4, 1, 1});
  CHECK(flops_per_position(graph, mixed, {1, 4, 4}) == 2 * 48 * 4);
}

TEST_CASE("sums of linear attention are a barrier, and what they give is read as statistics") {
  const Model model = model_of(tiny_dc_config());
  const Graph& graph = model.graph;
  const Op& sums = graph.op(graph.find_op("decoder.up_blocks.2.0.attn.sums"));
  CHECK(sums.inputs.size() == 2);
  CHECK(is_barrier(sums, 0));
  CHECK(is_barrier(sums, 1));
  CHECK(graph.tensor(sums.output).statistics);
  CHECK(graph.tensor(sums.output).channels == 8 * 4 * 5);  // heads of both inputs, four by four and one more
  CHECK(measured_tensor(sums) == sums.inputs[0]);
  const Op& attention = graph.op(graph.find_op("decoder.up_blocks.2.0.attn.attention"));
  CHECK(graph.tensor(attention.output).channels == 32);
  CHECK(head_channels(graph, attention) == 4);
  CHECK_FALSE(is_barrier(attention, 0));
  CHECK_FALSE(is_barrier(attention, 1));
  CHECK(is_barrier(attention, 2));
}

TEST_CASE("an optional cut point is behind every residual block and upsampling between them") {
  const Model model = model_of(tiny_dc_config());
  std::set<std::string> cut_points;
  for (const Tensor& tensor : model.graph.tensors()) {
    if (tensor.cut_point) cut_points.insert(tensor.name);
  }
  const std::string blocks = "decoder.up_blocks.";
  CHECK(cut_points == std::set<std::string>{blocks + "1.0.conv", blocks + "1.1", blocks + "1.2",
                                            blocks + "0.0.conv", blocks + "0.1"});
  const std::vector<int32_t> depths = barrier_depths(model.graph);
  const auto depth = [&](const std::string& name) { return depths[index(model.graph.find_tensor(name))]; };
  CHECK(depth(blocks + "2.1.conv_out") == 2);
  CHECK(depth(blocks + "1.0.conv") == 2);
  CHECK(depth(blocks + "1.1") == 3);
  CHECK(depth(blocks + "0.1") == 6);
  CHECK(depths[index(model.graph.output())] == 7);
}

TEST_CASE("batch norms are part of the convolution before them") {
  json config = tiny_dc_config();
  config["decoder_norm_types"] = "batch_norm";
  const Model model = model_of(config);
  const Op& conv = model.graph.op(model.graph.find_op("decoder.up_blocks.0.1.conv2"));
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters_of(model.graph, conv)) names.push_back(parameter.name);
  const std::string block = "decoder.up_blocks.0.1.";
  CHECK(names == std::vector<std::string>{block + "conv2.weight", block + "norm.weight", block + "norm.bias",
                                          block + "norm.running_mean", block + "norm.running_var"});
}

TEST_CASE("a stage without blocks leaves the last upsampling to the picture") {
  json config = tiny_dc_config();
  config["decoder_layers_per_block"] = {0, 1, 1};
  const Model model = model_of(config);
  CHECK(model.graph.tensor(model.graph.output()).scale == Axes<int32_t>{1, 4, 4});
  CHECK(model.graph.tensor(model.graph.output()).name == "decoder.conv_out.conv");
  config["upsample_block_type"] = "pixel_shuffle";
  CHECK(model_of(config).graph.tensor(model_of(config).graph.output()).name == "decoder.conv_out.shuffle");
}

TEST_CASE("an AutoencoderDC without keys is diffusers' default") {
  const Model model = model_of({{"_class_name", "AutoencoderDC"}});
  CHECK(model.graph.tensor(model.graph.output()).scale == Axes<int32_t>{1, 32, 32});
  CHECK(model.graph.find_op("decoder.up_blocks.0.3.conv2") != OpId{-1});
  CHECK(model.graph.find_op("decoder.up_blocks.0.0.shuffle") != OpId{-1});
  CHECK(model.scaling_factor == 1);
}

TEST_CASE("values of AutoencoderDC that are not supported are refused by their key") {
  refuses(changed_dc("upsample_block_type", "bilinear"), {"config.json: upsample_block_type", "interpolate"});
  refuses(changed_dc("decoder_norm_types", "layer_norm"), {"decoder_norm_types", "layer_norm", "rms_norm"});
  refuses(changed_dc("decoder_block_types", {"ResBlock", "Down", "ResBlock"}),
          {"decoder_block_types[1]", "Down"});
  refuses(changed_dc("decoder_act_fns", {"silu", "tanh", "silu"}), {"decoder_act_fns[1]", "tanh"});
  refuses(changed_dc("decoder_conv_act_fn", "tanh"), {"decoder_conv_act_fn", "tanh"});
  refuses(changed_dc("decoder_layers_per_block", {1, 2}), {"decoder_layers_per_block", "3", "2"});
  refuses(changed_dc("decoder_qkv_multiscales", {json::array(), json::array(), {4}}),
          {"decoder_qkv_multiscales[2][0]", "odd"});
  refuses(changed_dc("latent_channels", 5), {"decoder_block_out_channels[2]", "latent_channels = 5"});
  refuses(changed_dc("decoder_block_out_channels", {8, 15, 16}), {"decoder_block_out_channels"});
  refuses(changed_dc("decoder_block_out_channels", {2, 16, 16}),
          {"decoder_block_out_channels[0]", "quarter"});
  json gap = tiny_dc_config();
  gap["decoder_block_out_channels"] = {8, 16, 24};
  gap["decoder_layers_per_block"] = {1, 0, 2};
  refuses(gap, {"decoder_layers_per_block[1]", "24", "16"});
  gap["decoder_layers_per_block"] = {0, 0, 2};
  refuses(gap, {"decoder_layers_per_block[0]"});
  refuses(changed_dc("attention_head_dim", 17), {"decoder_block_out_channels[2]", "attention_head_dim = 17"});
  refuses(changed_dc("scaling_factor", 0), {"scaling_factor", "other than 0"});
  refuses(changed_dc("decoder_layers_per_block", {1, 2, 1'000'000}), {"decoder_layers_per_block[2]"});
  refuses(changed_dc("decoder_layers_per_block", {1, -2, 2}), {"decoder_layers_per_block[1]"});
  refuses(changed_dc("decoder_qkv_multiscales", {json::array(), json::array(), std::vector<int64_t>(99, 3)}),
          {"decoder_qkv_multiscales[2]", "at most"});
  refuses(changed_dc("decoder_block_types", 3), {"decoder_block_types", "expected a string"});
  json fewer = tiny_dc_config();
  fewer.erase("decoder_layers_per_block");
  refuses(fewer, {"decoder_layers_per_block: missing"});
}

}  // namespace
}  // namespace headroom
