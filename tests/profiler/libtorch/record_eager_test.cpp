#include "profiler/libtorch/record_eager.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "decoder/graph/errors.h"
#include "decoder/graph/parameters.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/recipe/published_recipe.h"
#include "decoder/recipe/tile_blender.h"
#include "profiler/eager/layer_memory.h"
#include "tests/decoder/recipe/recipe_cases.h"
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

/// The part of a latent, with or without an axis for the time, that one tile decodes.
Array part_of(const Array& latent, const Interval& rows, const Interval& columns) {
  const size_t x = latent.shape.size() - 1, y = x - 1;
  Array part{latent.shape, {}};
  part.shape[y] = rows.length();
  part.shape[x] = columns.length();
  const int64_t planes = static_cast<int64_t>(latent.values.size()) / latent.shape[y] / latent.shape[x];
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t row = rows.begin; row < rows.end; ++row)
      for (int64_t column = columns.begin; column < columns.end; ++column)
        part.values.push_back(
            latent.values[static_cast<size_t>((plane * latent.shape[y] + row) * latent.shape[x] + column)]);
  return part;
}

/// By our own decoder, in the tiles that the class blends.
Array blended(const Model& model, const Request& request, uint64_t seed) {
  const Recipe recipe = published_recipe(model, request, RecipeName::diffusers_tiling);
  const Model of_tiles = for_blended_tiles(model);
  const Array latent = test::latent_for(model, request, 0);
  test::MemorySink sink(test::picture_shape(model, request));
  TileBlender blender(recipe, sink);
  for (size_t i = 0; i < tile_count(recipe); ++i) {
    const Axes<size_t> at = tile_at(recipe, i);
    const Request tile = request_of_tile(request, recipe, at);
    const std::unique_ptr<PictureSink> made = blender.tile(i);
    decode(of_tiles, untiled_plan(of_tiles, tile), test::random_source(seed),
           part_of(latent, recipe.tiles.y[at.y].latent, recipe.tiles.x[at.x].latent), *made);
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

/// Of AutoencoderKLWan, tiles in its own scale.
nlohmann::json wan_22_config(Random& random) {
  nlohmann::json config = test::random_wan_22_config(random);
  config["_class_name"] = "AutoencoderKLWan";
  config["base_dim"] = 8;
  const int64_t patch = config["patch_size"].is_null() ? 1 : config["patch_size"].get<int64_t>();
  config["scale_factor_spatial"] = patch << (config["dim_mult"].size() - 1);
  return config;
}

TEST_CASE("libtorch: pixels of Wan 2.2 are those of the untiled decode, of clips as well") {
  check_pixels(wan_22_config, 3, 16);
}

/// Sizes and configs are drawn; each is more than one tile of 8 latent positions.
template <typename Config>
void check_tiles(const Config& config_of, int64_t most_frames, int seeds) {
  for (uint64_t seed = 0; seed < uint64_t(seeds); ++seed) {
    Random random(seed);
    const nlohmann::json config = config_of(random);
    Model model = test::model_of(config);
    const Axes<int32_t> scale = model.graph.tensor(model.graph.output()).scale;
    EagerRequest asked = asked_of(model, random.integer(9, 20), random.integer(5, 20),
                                  1 + random.integer(0, most_frames) * scale.t, random.integer(1, 2));
    asked.whole = false;
    asked.tile = 8;
    const bool clips = model.decodes_clips;
    model = for_frames(model, asked.frames);
    CAPTURE(seed, config.dump(), asked.sizes, asked.frames, asked.batch);
    const Eager eager = recorded(model, asked, seed);
    REQUIRE(model.published_tiles);
    for (TileRule* rule : {&model.published_tiles->rows, &model.published_tiles->columns}) {
      const int64_t step = rule->step;
      *rule = rule_of_quarters(8, scale.y);
      rule->step = step;
    }
    const Array reference = blended(model, request_of(asked), seed);
    REQUIRE(eager.pictures.size() == (clips ? 1 : 2));
    for (const Array& picture : eager.pictures)
      CHECK(test::relative_error(picture, reference) <= test::kExact);
    const Recipe recipe = published_recipe(model, request_of(asked), RecipeName::diffusers_tiling);
    for (const RecordedEagerDecode& decode : eager.recording.decodes) {
      CHECK(decode.tile == 8);
      CHECK(decode.tile_count == int64_t(tile_count(recipe)));
      CHECK(decode.layers.back().name == "join");
    }
    check_sums(eager.recording);
  }
}

TEST_CASE("libtorch: tiles are blended as diffusers blends them") {
  check_tiles(test::random_config, 0, 8);
}

TEST_CASE("libtorch: tiles of AutoencoderDC are blended as diffusers blends them") {
  check_tiles(
      [](Random& random) {
        nlohmann::json config = test::random_dc_config(random);
        config["encoder_block_out_channels"] = config["decoder_block_out_channels"];
        return config;
      },
      0, 8);
}

TEST_CASE("libtorch: tiles of Wan and QwenImage are blended as diffusers blends them, of clips as well") {
  check_tiles(
      [](Random& random) {
        nlohmann::json config = test::random_wan_config(random);
        // Of four channels the length that a norm divides by is as short as rounding at some positions.
        config["base_dim"] = random.pick<int64_t>({8, 16});
        config["scale_factor_spatial"] = int64_t{1} << (config["dim_mult"].size() - 1);
        return config;
      },
      2, 8);
}

TEST_CASE("libtorch: tiles of Wan 2.2 are blended as diffusers blends them, patch by patch") {
  check_tiles(wan_22_config, 2, 8);
}

TEST_CASE("libtorch: until a clip is put together all its tiles are there, and the last one's frames") {
  nlohmann::json config = test::tiny_wan_config();
  config["scale_factor_spatial"] = 4;
  const Model model = test::model_of(config);
  const Axes<int32_t> scale = model.graph.tensor(model.graph.output()).scale;
  EagerRequest asked = asked_of(model, 25, 31, 1 + 2 * scale.t, 1);
  asked.whole = false;
  asked.tile = 8;
  const EagerRecording found = recorded(model, asked, 0).recording;
  const auto bytes = [&](int64_t rows, int64_t columns) {
    return 4 * 3 * asked.frames * rows * columns * scale.y * scale.x;
  };
  CHECK(found.decodes.at(0).tile_count == 5 * 6);
  // Tiles begin every 6 positions. Rows of them are put side by side, then all rows, and the values clamped.
  const int64_t latent = 4 * 4 * 3 * 25 * 31;
  const int64_t tiles = bytes(3 * 8 + 7 + 1, 4 * 8 + 7 + 1), last = bytes(1, 1), picture = bytes(25, 31);
  CHECK(found.decodes[0].layers.back().live_bytes ==
        found.weights_bytes + latent + tiles + last + 3 * picture);
}

TEST_CASE("libtorch: the tiles that a class has by itself are those that are asked for by their side") {
  nlohmann::json config = test::tiny_config();
  config["sample_size"] = 8 << (config["block_out_channels"].size() - 1);
  const Model model = test::model_of(config);
  EagerRequest asked = asked_of(model, 13, 9, 1, 1);
  asked.whole = false;
  const EagerRecording own = recorded(model, asked, 0).recording;
  asked.tile = 8;
  const EagerRecording same = recorded(model, asked, 0).recording;
  REQUIRE(own.decodes.size() == same.decodes.size());
  CHECK(own.decodes[0].tile == 8);
  CHECK(own.decodes[0].tile_count == same.decodes[0].tile_count);
  CHECK(own.decodes[0].peak_bytes == same.decodes[0].peak_bytes);
}

TEST_CASE("libtorch: tiles are those of diffusers' own decodes") {
  int held = 0;
  for (const std::string& name : test::recipe_cases(HEADROOM_TEST_DATA)) {
    const test::RecipeCase of = test::recipe_case(name);
    if (!eager_class(of.model.class_name)) continue;
    CAPTURE(name);
    EagerRequest asked;
    asked.sizes = {{of.request.width_pixels, of.request.height_pixels}};
    asked.frames = of.request.frames;
    asked.batch = of.request.batch;
    asked.latent = of.latent;
    const Eager eager = recorded(of.model, asked, test::kRecipeWeights);
    const bool cut = eager.recording.decodes.back().tile > 0;
    CHECK(cut == (name.find("small_enough") == std::string::npos));
    CHECK(test::relative_error(eager.pictures.back(), of.expected) <= test::kExact);
    ++held;
  }
  CHECK(held == 14);
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
  nlohmann::json wan22 = test::tiny_wan_22_config();
  wan22["base_dim"] = 32;
  // Of small ones LibTorch convolves without oneDNN.
  for (const Family& family :
       {Family{"AutoencoderKL", kl, 40, 24, 1}, Family{"AutoencoderKL", kl, 8, 12, 1},
        Family{"AutoencoderDC", dc, 40, 24, 1}, Family{"AutoencoderKLWan", wan, 24, 40, 9},
        Family{"AutoencoderKLWan", wan, 40, 32, 1}, Family{"AutoencoderKLWan", wan, 8, 8, 5},
        Family{"Wan 2.2", wan22, 24, 16, 9}, Family{"Wan 2.2", wan22, 16, 24, 1}}) {
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
  // Its encoder has six resolutions, by which diffusers would cut it, and its decoder three.
  const Model dc = test::model_of(test::tiny_dc_config());
  EagerRequest of_dc = asked_of(dc, 4, 4, 1, 1);
  of_dc.whole = false;
  of_dc.tile = 8;
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
