#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/operations/operation.h"
#include "tests/support/op_named.h"
#include "tests/support/refused_config.h"
#include "tests/support/tiny_pictures.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::model_of;
using test::refuses;

json changed_hunyuan_image(const char* key, const json& value) {
  return test::changed(test::tiny_hunyuan_image_config(), key, value);
}

TEST_CASE("blocks and upsamplings are numbered through all resolutions") {
  const Graph graph = model_of(test::tiny_hunyuan_image_config()).graph;
  const std::string blocks = "decoder.up_blocks.";
  const auto channels = [&](const std::string& name) {
    REQUIRE(graph.find_tensor(name) != TensorId{-1});
    return graph.tensor(graph.find_tensor(name)).channels;
  };
  CHECK(channels(blocks + "1.conv2") == 64);
  CHECK(channels(blocks + "2.conv") == 4 * 64);
  CHECK(channels(blocks + "3.conv1") == 64);
  CHECK(channels(blocks + "5.conv") == 4 * 32);
  CHECK(channels(blocks + "7.conv1") == 32);
  CHECK(graph.find_op(blocks + "8.conv") == OpId{-1});
}

TEST_CASE("values of AutoencoderKLHunyuanImage that are not supported are refused by their key") {
  refuses(changed_hunyuan_image("block_out_channels", {32, 64, 60}),
          {"config.json: block_out_channels[2]", "32", "60"});
  refuses(changed_hunyuan_image("block_out_channels", {32, 64, 320}), {"block_out_channels[1]", "320", "64"});
  refuses(changed_hunyuan_image("spatial_compression_ratio", 2),
          {"block_out_channels[0]", "because no upsampling separates them", "32"});
  refuses(changed_hunyuan_image("upsample_match_channel", false),
          {"block_out_channels[0]", "upsample_match_channel", "32"});
  refuses(changed_hunyuan_image("latent_channels", 7), {"block_out_channels[2]", "latent_channels = 7"});
  refuses(changed_hunyuan_image("block_out_channels", json::array()), {"block_out_channels", "at least one"});
  refuses(changed_hunyuan_image("scaling_factor", 0), {"scaling_factor", "other than 0"});
  for (const char* key : {"latent_channels", "out_channels", "block_out_channels", "layers_per_block",
                          "spatial_compression_ratio"}) {
    json fewer = test::tiny_hunyuan_image_config();
    fewer.erase(key);
    refuses(fewer, {std::string(key) + ": missing"});
  }
  CHECK_FALSE(model_of(changed_hunyuan_image("scaling_factor", nullptr)).scaling_factor);
}

json changed_hunyuan_image_3(const char* key, const json& value) {
  return test::changed(test::tiny_hunyuan_image_3_config(), key, value);
}

TEST_CASE("HunyuanImage 3's frames lie in the channels, and the picture is the last one") {
  const Graph graph = resolve_model("hunyuan-image-3").graph;
  const auto check = [&](const char* name, int64_t channels, const std::vector<int64_t>& shape) {
    CAPTURE(name);
    const Op& op = test::op_named(graph, name);
    CHECK(graph.tensor(op.output).channels == channels);
    CHECK(parameters_of(graph, op)[0].shape == shape);
    CHECK(parameters_of(graph, op)[1].shape == std::vector<int64_t>{shape[0]});
  };
  check("decoder.mid.block_1.conv1", 1024, {1024, 1024, 3, 3, 3});
  check("decoder.up.0.upsample.conv", 2 * 1024 * 4, {8 * 1024, 1024, 3, 3, 3});
  check("decoder.up.1.block.0.norm1", 2 * 1024, {1024});
  check("decoder.up.1.upsample.conv", 4 * 512 * 4, {8 * 512, 1024, 3, 3, 3});
  check("decoder.up.2.upsample.conv", 4 * 256 * 4, {4 * 256, 512, 3, 3, 3});
  check("decoder.up.4.block.2.conv2", 4 * 128, {128, 128, 3, 3, 3});
  check("decoder.conv_out", 3, {3, 128, 3, 3, 3});
  CHECK(test::op_named(graph, "decoder.conv_out").convolution.frames.first == 3);
}

TEST_CASE("values of AutoencoderKLConv3D that are not supported are refused by their key") {
  refuses(changed_hunyuan_image_3("ffactor_spatial", 8), {"block_out_channels", "ffactor_spatial = 8", "2"});
  refuses(changed_hunyuan_image_3("ffactor_temporal", 4), {"ffactor_temporal", "4"});
  refuses(changed_hunyuan_image_3("block_out_channels", {32, 60}), {"block_out_channels[1]", "32", "60"});
  refuses(changed_hunyuan_image_3("latent_channels", 7), {"block_out_channels[1]", "latent_channels = 7"});
  refuses(changed_hunyuan_image_3("block_out_channels", {32, 320}), {"block_out_channels", "320 before 32"});
  refuses(changed_hunyuan_image_3("block_out_channels", json::array()),
          {"block_out_channels", "at least one"});
}

}  // namespace
}  // namespace headroom
