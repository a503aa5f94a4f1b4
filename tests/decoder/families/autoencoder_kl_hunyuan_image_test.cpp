#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace headroom
