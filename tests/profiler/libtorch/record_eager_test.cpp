#include "profiler/libtorch/record_eager.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "decoder/graph/errors.h"
#include "decoder/graph/parameters.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/recipe/published_recipe.h"
#include "decoder/recipe/tile_blender.h"
#include "tests/support/decoding.h"
#include "tests/support/random.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom::profiler {
namespace {

using test::Random;

void quiet(double, const std::string&) {}

/// What LibTorch made, and what it took for that.
struct Eager {
  std::vector<Array> pictures;
  EagerRecording recording;
};

Eager recorded(const Model& model, EagerRequest request, uint64_t seed) {
  request.threads = 2;
  Eager eager;
  eager.recording = record_eager(
      model, request, test::random_source(seed), quiet,
      [&](const RecordedEagerDecode&, Array picture) { eager.pictures.push_back(std::move(picture)); });
  return eager;
}

Request request_of(const EagerRequest& asked) {
  Request request;
  request.width_pixels = asked.sizes.front().first;
  request.height_pixels = asked.sizes.front().second;
  request.frames = asked.frames;
  request.batch = asked.batch;
  return request;
}

/// By our own decoder, whole. The latent is that of the recording.
Array untiled(const Model& model, const Request& request, uint64_t seed) {
  return test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed),
                                test::latent_for(model, request, 0))
      .picture;
}

/// By our own decoder, in the tiles that the class blends.
Array blended(const Model& model, const Request& request, uint64_t seed) {
  const Recipe recipe = published_recipe(model, request, RecipeName::diffusers_tiling);
  const Array latent = test::latent_for(model, request, 0);
  test::MemorySink sink(test::picture_shape(model, request));
  TileBlender blender(recipe, sink);
  for (size_t i = 0; i < tile_count(recipe); ++i) {
    const Axes<size_t> at = tile_at(recipe, i);
    const Interval rows = recipe.tiles.y[at.y].latent, columns = recipe.tiles.x[at.x].latent;
    Array part{{latent.shape[0], latent.shape[1], rows.length(), columns.length()}, {}};
    for (int64_t plane = 0; plane < latent.shape[0] * latent.shape[1]; ++plane)
      for (int64_t y = rows.begin; y < rows.end; ++y)
        for (int64_t x = columns.begin; x < columns.end; ++x)
          part.values.push_back(
              latent.values[static_cast<size_t>((plane * latent.shape[2] + y) * latent.shape[3] + x)]);
    const Request tile = request_of_tile(request, recipe, at);
    const std::unique_ptr<PictureSink> made = blender.tile(i);
    decode(model, untiled_plan(model, tile), test::random_source(seed), part, *made);
    made->finish();
  }
  sink.finish();
  return std::move(sink.picture);
}

EagerRequest asked_of(const Model& model, int64_t rows, int64_t columns, int64_t frames, int64_t batch) {
  const int64_t scale = model.graph.tensor(model.graph.output()).scale.y;
  EagerRequest request;
  request.sizes = {{columns * scale, rows * scale}};
  request.frames = frames;
  request.batch = batch;
  return request;
}

/// What holds of every recording.
void check_sums(const EagerRecording& recording) {
  for (const RecordedEagerDecode& decode : recording.decodes) {
    CAPTURE(decode.width_pixels, decode.height_pixels, name_of(decode.layout), decode.tile);
    CHECK(std::accumulate(decode.peak_live.begin(), decode.peak_live.end(), int64_t{0},
                          [](int64_t sum, const EagerTensor& held) { return sum + held.bytes; }) ==
          decode.peak_bytes);
    int64_t highest = 0;
    for (const RecordedLayer& layer : decode.layers) {
      CAPTURE(layer.name);
      CHECK(layer.activation_bytes >= 0);
      CHECK(layer.workspace_bytes >= 0);
      CHECK(layer.slack_bytes >= 0);
      CHECK(layer.live_bytes <= decode.peak_bytes);
      if (layer.name == decode.peak_layer) CHECK(layer.live_bytes == decode.peak_bytes);
      highest = std::max(highest, layer.live_bytes);
    }
    CHECK(highest == decode.peak_bytes);
    const auto held = [&](const std::string& name) {
      return std::any_of(decode.peak_live.begin(), decode.peak_live.end(),
                         [&](const EagerTensor& tensor) { return tensor.name == name; });
    };
    CHECK(held("weights"));
    CHECK(held("latent"));
  }
}

template <typename Config>
void check_pixels(const Config& config_of, int64_t most_frames, int seeds) {
  for (uint64_t seed = 0; seed < uint64_t(seeds); ++seed) {
    Random random(seed);
    const nlohmann::json config = config_of(random);
    Model model = test::model_of(config);
    const int32_t step = model.graph.tensor(model.graph.output()).scale.t;
    const int64_t chunks = random.integer(0, most_frames);
    const bool clips = model.decodes_clips;
    EagerRequest asked =
        asked_of(model, random.integer(1, 9), random.integer(1, 9), 1 + chunks * step, random.integer(1, 2));
    asked.in_tiles = false;
    model = for_frames(model, asked.frames);
    CAPTURE(seed, config.dump(), asked.sizes, asked.frames, asked.batch);
    const Eager eager = recorded(model, asked, seed);
    const Array reference = untiled(model, request_of(asked), seed);
    REQUIRE(eager.pictures.size() == (clips ? 1 : 2));
    for (const Array& picture : eager.pictures)
      CHECK(test::relative_error(picture, reference) <= test::kExact);
    CHECK(eager.recording.weights_bytes == 4 * parameter_elements(model.graph));
    check_sums(eager.recording);
  }
}

TEST_CASE("libtorch: pixels of AutoencoderKL are those of the untiled decode, in both layouts") {
  check_pixels(test::random_config, 0, 12);
}

TEST_CASE("libtorch: pixels of AutoencoderDC are those of the untiled decode, in both layouts") {
  check_pixels(test::random_dc_config, 0, 16);
}

TEST_CASE("libtorch: pixels of Wan and QwenImage are those of the untiled decode, of clips as well") {
  check_pixels(test::random_wan_config, 3, 16);
}

TEST_CASE("libtorch: tiles are blended as diffusers blends them") {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Random random(seed);
    nlohmann::json config = test::random_config(random);
    const int64_t scale = int64_t{1} << (config["block_out_channels"].size() - 1);
    config["sample_size"] = 8 * scale;
    const Model model = test::model_of(config);
    EagerRequest asked = asked_of(model, random.integer(9, 20), random.integer(5, 20), 1, 2);
    asked.whole = false;
    CAPTURE(seed, config.dump(), asked.sizes);
    const Eager eager = recorded(model, asked, seed);
    const Array reference = blended(model, request_of(asked), seed);
    REQUIRE(eager.pictures.size() == 2);
    for (const Array& picture : eager.pictures)
      CHECK(test::relative_error(picture, reference) <= test::kExact);
    const Recipe recipe = published_recipe(model, request_of(asked), RecipeName::diffusers_tiling);
    for (const RecordedEagerDecode& decode : eager.recording.decodes) {
      CHECK(decode.tile == 8);
      CHECK(decode.tile_count == int64_t(tile_count(recipe)));
      CHECK(decode.layers.back().name == "join");
    }
    check_sums(eager.recording);
    // The same tiles, asked for by their side.
    asked.tile = 8;
    CHECK(recorded(model, asked, seed).recording.decodes[0].peak_bytes ==
          eager.recording.decodes[0].peak_bytes);
  }
}

struct Family {
  const char* name;
  nlohmann::json config;
  int64_t rows, columns, frames;
};

TEST_CASE("libtorch: what is recorded is within 3 % of what is counted") {
  nlohmann::json kl = test::tiny_config({32, 64, 64});
  nlohmann::json dc = test::tiny_dc_config();
  dc["decoder_block_out_channels"] = {32, 64, 64};
  dc["attention_head_dim"] = 16;
  nlohmann::json wan = test::tiny_wan_config();
  wan["base_dim"] = 32;
  // Of small ones LibTorch convolves without oneDNN.
  for (const Family& family :
       {Family{"AutoencoderKL", kl, 40, 24, 1}, Family{"AutoencoderKL", kl, 8, 12, 1},
        Family{"AutoencoderDC", dc, 40, 24, 1}, Family{"AutoencoderKLWan", wan, 24, 40, 9},
        Family{"AutoencoderKLWan", wan, 40, 32, 1}, Family{"AutoencoderKLWan", wan, 8, 8, 5}}) {
    CAPTURE(family.name, family.frames);
    const Model model = for_frames(test::model_of(family.config), family.frames);
    EagerRequest asked = asked_of(model, family.rows, family.columns, family.frames, 1);
    asked.layouts = {EagerLayout::nchw};
    const EagerRecording found = recorded(model, asked, 0).recording;
    const RecordedEagerDecode& decode = found.decodes.at(0);
    CAPTURE(decode.peak_layer, decode.peak_bytes, decode.counted_peak_bytes);
    const auto above = [&](int64_t bytes) { return double(bytes - found.weights_bytes); };
    CHECK(above(decode.counted_peak_bytes) == Approx(above(decode.peak_bytes)).epsilon(0.03));
  }
}

TEST_CASE("libtorch: 16 bits take half as much") {
  const Model model = test::model_of(test::tiny_config({32, 64}));
  EagerRequest asked = asked_of(model, 24, 24, 1, 1);
  asked.layouts = {EagerLayout::nchw};
  const EagerRecording whole = recorded(model, asked, 0).recording;
  asked.dtype = Dtype::bf16;
  const EagerRecording half = recorded(model, asked, 0).recording;
  CHECK(half.weights_bytes * 2 == whole.weights_bytes);
  CHECK(half.decodes[0].layers[0].activation_bytes * 2 == whole.decodes[0].layers[0].activation_bytes);
}

TEST_CASE("libtorch: what cannot be recorded is refused") {
  const Model kl = test::model_of(test::tiny_config());
  const auto refused = [](const Model& model, const EagerRequest& request) {
    try {
      recorded(model, request, 0);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Model other = kl;
  other.class_name = "AutoencoderTiny";
  CHECK_THAT(refused(other, asked_of(kl, 4, 4, 1, 1)), Catch::Contains("AutoencoderTiny"));
  EagerRequest tiles = asked_of(kl, 4, 4, 1, 1);
  tiles.whole = false;
  CHECK_THAT(refused(kl, tiles), Catch::Contains("none of the sizes is larger than a tile"));
  const Model dc = test::model_of(test::tiny_dc_config());
  EagerRequest of_dc = asked_of(dc, 4, 4, 1, 1);
  of_dc.whole = false;
  CHECK_THAT(refused(dc, of_dc), Catch::Contains("AutoencoderDC") && Catch::Contains("no tiles"));
  const Model wan = test::model_of(test::tiny_wan_config());
  EagerRequest last = asked_of(wan, 4, 4, 5, 1);
  last.layouts = {EagerLayout::channels_last};
  CHECK_THAT(refused(wan, last), Catch::Contains("clips are decoded in nchw alone"));
  EagerRequest odd = asked_of(kl, 4, 4, 1, 1);
  odd.sizes = {{9, 8}};
  CHECK_THAT(refused(kl, odd), Catch::Contains("9"));
}

}  // namespace
}  // namespace headroom::profiler
