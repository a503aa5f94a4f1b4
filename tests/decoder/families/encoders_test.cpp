#include <catch2/catch.hpp>
#include <set>

#include "decoder/base/errors.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

TEST_CASE("an encoder halves what its decoder doubles") {
  size_t encoders = 0;
  for (const std::string& name : built_in_models()) {
    const Model model = resolve_model(name);
    if (!model.encoder || !model.why_no_decoder.empty()) continue;
    if (name == "wan2.1-upscale2x") continue;  // that decoder alone upscales
    CAPTURE(name);
    ++encoders;
    const Graph encoder = model.encoder();
    CHECK(encoder.encodes());
    CHECK_FALSE(model.graph.encodes());
    CHECK(encoder.tensor(encoder.picture()).scale == model.graph.tensor(model.graph.picture()).scale);
    CHECK(encoder.tensor(encoder.picture()).channels == model.graph.tensor(model.graph.picture()).channels);
    CHECK(encoder.tensor(encoder.output()).scale == Axes<int32_t>{1, 1, 1});
    const int64_t made = encoder.tensor(encoder.output()).channels, channels = model.latent_channels;
    CHECK((made == channels || made == channels + 1 || made == 2 * channels));
    for (const Op& op : encoder.ops()) {
      for (const Parameter& parameter : parameters_of(encoder, op)) {
        CAPTURE(parameter.name);
        CHECK((parameter.name.starts_with("encoder.") || parameter.name.starts_with("quant_conv.")));
      }
    }
    const Graph of_one = encoder.of_one_frame();
    CHECK(of_one.encodes());
    CHECK(of_one.tensor(of_one.picture()).scale.t == 1);
  }
  CHECK(encoders >= 18);
}

TEST_CASE("a class without an encoder names itself") {
  test::require_input_error([] { for_direction(resolve_model("hunyuan-image-refiner"), Direction::encode); },
                            {"Headroom does not encode with AutoencoderKLHunyuanImageRefiner"});
  test::require_input_error([] { parse_direction("both"); }, {"expected decode or encode, found 'both'"});
}

TEST_CASE("a class without a decoder encodes, and every way to decode with it says why not") {
  const Model model = resolve_model("minimax-h3");
  const std::vector<std::string> why{"minimax-h3: Headroom does not decode",
                                     "blends tiles and cross-fades clips"};
  test::require_input_error([&] { for_direction(model, Direction::decode); }, why);
  test::require_input_error([&] { for_frames(model, 1); }, why);
  const Model encoder = for_direction(model, Direction::encode);
  CHECK(parameter_elements(encoder.graph) == 180'337'888);
  CHECK(for_frames(encoder, 1).graph.tensor(TensorId{0}).scale == Axes<int32_t>{1, 16, 16});
  CHECK(latent_extent(encoder, 1024, 512, 17) == Extent{5, 32, 64});
  test::require_input_error([&] { latent_extent(encoder, 1024, 512, 21); },
                            {"expected from 1 to 17", "found 21"});
}

TEST_CASE("the input of an encode is the picture") {
  const Model sdxl = for_direction(resolve_model("sdxl"), Direction::encode);
  CHECK(latent_extent(sdxl, 1024, 512, 1) == Extent{1, 64, 128});
  CHECK(input_shape(sdxl, {1, 64, 128}, 2) == std::vector<int64_t>{2, 3, 512, 1024});
  const Model wan = for_direction(resolve_model("wan2.1"), Direction::encode);
  CHECK(input_shape(wan, {3, 60, 104}, 1) == std::vector<int64_t>{1, 3, 9, 480, 832});
}

}  // namespace
}  // namespace headroom
