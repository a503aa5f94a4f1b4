#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "tests/support/refused_config.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::model_of;
using test::refuses;

json changed_tiny(const char* key, const json& value) {
  return test::changed(test::tiny_autoencoder_tiny_config(), key, value);
}

TEST_CASE("TAESD's decoder has the parameters of diffusers' and no barrier") {
  const Model model = resolve_model("taesd");
  CHECK_FALSE(model.force_upcast);
  for (const Op& op : model.graph.ops()) {
    for (size_t i = 0; i < op.inputs.size(); ++i) CHECK_FALSE(is_barrier(op, i));
  }
}

TEST_CASE("layers are numbered as in diffusers' sequence, and every one is an optional cut point") {
  const Model model = model_of(test::tiny_autoencoder_tiny_config());
  std::vector<std::string> convolutions, cut_points;
  for (const Op& op : model.graph.ops()) {
    if (op.kind == OpKind::conv) convolutions.push_back(op.name);
  }
  for (const Tensor& tensor : model.graph.tensors()) {
    if (tensor.cut_point) cut_points.push_back(tensor.name);
  }
  const std::string layers = "decoder.layers.";
  CHECK(convolutions == std::vector<std::string>{
                            layers + "0", layers + "2.conv.0", layers + "2.conv.2", layers + "2.conv.4",
                            layers + "4", layers + "5.conv.0", layers + "5.conv.2", layers + "5.conv.4",
                            layers + "6.conv.0", layers + "6.conv.2", layers + "6.conv.4", layers + "7"});
  CHECK(cut_points ==
        std::vector<std::string>{layers + "0", layers + "2", layers + "4", layers + "5", layers + "6"});
  const Op& between = model.graph.op(model.graph.find_op(layers + "4"));
  CHECK_FALSE(between.convolution.bias);
  CHECK(model.graph.op(model.graph.find_op(layers + "2")).activation == Activation::relu);
}

TEST_CASE("an AutoencoderTiny without keys is diffusers' default") {
  const Model model = model_of({{"_class_name", "AutoencoderTiny"}});
  CHECK(parameter_elements(model.graph) == parameter_elements(resolve_model("taesd").graph));
  CHECK(model.shift_factor == 0);
}

TEST_CASE("values of AutoencoderTiny that are not supported are refused by their key") {
  refuses(changed_tiny("decoder_block_out_channels", {8, 16}),
          {"config.json: decoder_block_out_channels[1]", "8", "16"});
  refuses(changed_tiny("decoder_block_out_channels", {8}), {"decoder_block_out_channels", "2", "1"});
  refuses(changed_tiny("num_decoder_blocks", json::array()), {"num_decoder_blocks", "at least one"});
  refuses(changed_tiny("upsample_fn", "bilinear"), {"upsample_fn", "bilinear", "nearest"});
  refuses(changed_tiny("act_fn", "tanh"), {"act_fn", "tanh", "relu"});
  refuses(changed_tiny("scaling_factor", 0), {"scaling_factor", "other than 0"});
  json fewer = test::tiny_autoencoder_tiny_config();
  fewer.erase("decoder_block_out_channels");
  refuses(fewer, {"decoder_block_out_channels: missing"});
}

TEST_CASE("TAEF2's blocks of the coarsest resolution begin with a norm over the whole picture") {
  const Model model = resolve_model("taef2");
  int64_t norms = 0;
  for (const Op& op : model.graph.ops()) {
    if (op.kind != OpKind::statistics) continue;
    ++norms;
    CHECK(op.groups == 4);
    CHECK(op.epsilon == 1e-5);
    CHECK(model.graph.tensor(op.inputs[0]).channels == 256);
    CHECK(model.graph.tensor(op.inputs[0]).scale == Axes<int32_t>{1, 1, 1});
  }
  CHECK(norms == 3);
  for (const char* name : {"decoder.layers.2.pool.0", "decoder.layers.4.pool.1", "decoder.layers.3.pool.3"})
    CHECK(model.graph.find_op(name) != OpId{-1});
}

json changed_taehv(const char* key, const json& value) {
  return test::changed(test::tiny_taehv_config(), key, value);
}

TEST_CASE("TAEHV's layers are numbered as in its sequence, and the last doubling makes frames of channels") {
  const Model model = resolve_model("taehv");
  CHECK(model.name == "taew2.1");
  CHECK(model.decodes_clips);
  CHECK(resolve_model("taehv").graph.find_op("decoder.15.conv.4") != OpId{-1});
  const auto shape = [&](const char* op) {
    return parameters_of(model.graph, model.graph.op(model.graph.find_op(op))).front().shape;
  };
  CHECK(shape("decoder.3.conv.0") == std::vector<int64_t>{256, 512, 3, 3});
  CHECK(shape("decoder.13.conv") == std::vector<int64_t>{256, 128, 1, 1});
  CHECK(shape("decoder.15.conv.0") == std::vector<int64_t>{64, 128, 3, 3});
  CHECK(shape("decoder.15.conv.4") == std::vector<int64_t>{64, 64, 3, 3});
  CHECK(shape("decoder.19.conv") == std::vector<int64_t>{128, 64, 1, 1});
  CHECK(shape("decoder.22") == std::vector<int64_t>{3, 64, 3, 3});
  // Two frames in the channels.
  const Op& block = model.graph.op(model.graph.find_op("decoder.15.conv.2"));
  CHECK(model.graph.tensor(block.output).channels == 128);
  CHECK(model.graph.tensor(block.output).scale == Axes<int32_t>{1, 4, 4});
  const Op& frames = model.graph.op(model.graph.find_op("decoder.19"));
  CHECK(frames.kind == OpKind::depth_to_space);
  CHECK(model.graph.tensor(frames.output).channels == 64);
  CHECK(model.graph.tensor(frames.output).scale == Axes<int32_t>{4, 4, 4});
}

TEST_CASE(
    "CogVideoX's TAEHV takes clips of an odd number of latent frames, from which its class drops frames") {
  const Model model = resolve_model("taecvx");
  for (const int64_t frames : {1, 9, 17}) CHECK(wrong_frames(model, frames).empty());
  CHECK(wrong_frames(model, 5).find("1 plus a multiple of 2 frames") != std::string::npos);
  CHECK(wrong_frames(resolve_model("taew2.1"), 5).empty());
}

TEST_CASE("values of TAEHV that are not supported are refused by their key") {
  refuses(changed_taehv("arch_variant", "super"), {"config.json: arch_variant", "super", "null"});
  refuses(changed_taehv("num_decoder_blocks", json::array()), {"num_decoder_blocks", "at least one"});
  refuses(changed_taehv("decoder_time_upscale", {true}), {"decoder_time_upscale", "3", "1"});
  refuses(changed_taehv("decoder_space_upscale", {1, 1, 1}), {"decoder_space_upscale[0]"});
  refuses(changed_taehv("decoder_block_out_channels", {8, 8, 8}), {"decoder_block_out_channels", "4", "3"});
  json h3 = changed_taehv("latent_channels", 24);
  h3["patch_size"] = 2;
  refuses(h3, {"latent_channels", "24 channels are MiniMax-H3's"});
}

}  // namespace
}  // namespace headroom
