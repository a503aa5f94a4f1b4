#include "decoder/recipe/published_recipe.h"

#include <catch2/catch.hpp>

#include "decoder/graph/errors.h"
#include "decoder/recipe/kept_edges.h"

namespace headroom {
namespace {

Recipe recipe_of(const std::string& model, int64_t width, int64_t height, int64_t frames = 1,
                 RecipeName name = RecipeName::diffusers_tiling) {
  const Request request{model, width, height, frames};
  return published_recipe(for_frames(resolve_model(model), frames), request, name);
}

TEST_CASE("SDXL's tiles have 128 latent positions, every 96") {
  const Recipe recipe = recipe_of("sdxl", 1280, 1024);
  CHECK(recipe.tiles.x == std::vector<RecipeTile>{{{0, 128}, {0, 768}}, {{96, 160}, {768, 1280}, 0, 256}});
  // A tile would hold all rows, but since columns are cut rows are as well.
  CHECK(recipe.tiles.y == std::vector<RecipeTile>{{{0, 128}, {0, 768}}, {{96, 128}, {768, 1024}, 0, 256}});
  CHECK(recipe.tiles.t == std::vector<RecipeTile>{{{0, 1}, {0, 1}}});
  CHECK_FALSE(recipe.clamps);
}

TEST_CASE("a picture of a tile's size is not cut") {
  const Recipe recipe = recipe_of("sdxl", 1024, 768);
  CHECK(tile_count(recipe) == 1);
  CHECK(recipe.tiles.x == std::vector<RecipeTile>{{{0, 128}, {0, 1024}}});
  CHECK(kept_bytes(recipe, resolve_model("sdxl"), 1) == 4 * (3 * 1024 + 4 * 128 * 96));
}

TEST_CASE("Wan's tiles have 256 pixels, every 192, and are clamped once they are blended") {
  const Recipe recipe = recipe_of("wan2.1", 832, 480, 81);
  CHECK(recipe.tiles.y == std::vector<RecipeTile>{{{0, 32}, {0, 192}},
                                                  {{24, 56}, {192, 384}, 0, 64},
                                                  {{48, 60}, {384, 480}, 0, 64}});
  CHECK(recipe.tiles.x.size() == 5);
  CHECK(recipe.tiles.x.back() == RecipeTile{{96, 104}, {768, 832}, 0, 64});
  CHECK(recipe.clamps);
  CHECK(recipe.step == 1);
  CHECK(recipe_of("wan2.2", 832, 480, 81).step == 2);
}

TEST_CASE("Sana's tiles have 512 pixels, every 448, where the encoder has the decoder's scale") {
  const Recipe recipe = recipe_of("sana-dc-ae-f32c32", 1024, 512);
  CHECK(recipe.tiles.x == std::vector<RecipeTile>{{{0, 16}, {0, 448}},
                                                  {{14, 30}, {448, 896}, 0, 64},
                                                  {{28, 32}, {896, 1024}, 0, 64}});
  CHECK(recipe.tiles.y == std::vector<RecipeTile>{{{0, 16}, {0, 448}}, {{14, 16}, {448, 512}, 0, 64}});
  CHECK_FALSE(recipe.clamps);
  const std::string encoder = R"({"_class_name": "AutoencoderDC", "encoder_block_out_channels": )";
  CHECK(parse_model(encoder + "[8, 8, 8, 8, 8, 8]}", "config").published_tiles);
  CHECK_FALSE(parse_model(encoder + "[8, 8, 8, 8, 8]}", "config").published_tiles);
  CHECK_FALSE(parse_model(encoder + "null}", "config").published_tiles);
}

TEST_CASE("QwenImage's tiles are Wan's, and what is blended of them is not clamped") {
  const Recipe recipe = recipe_of("qwen-image", 832, 480);
  CHECK(recipe.tiles.x == recipe_of("wan2.1", 832, 480).tiles.x);
  CHECK_FALSE(recipe.clamps);
  CHECK(recipe_of("qwen-image", 256, 192).clamps);
}

TEST_CASE("HunyuanVideo's clips have 17 frames, every 12, and all but the first drop one") {
  const Recipe recipe = recipe_of("hunyuan-video", 64, 64, 33, RecipeName::diffusers_framewise);
  CHECK(recipe.tiles.t ==
        std::vector<RecipeTile>{{{0, 5}, {0, 13}}, {{3, 8}, {13, 25}, 1, 4}, {{6, 9}, {25, 33}, 1, 4}});
  CHECK(recipe_of("hunyuan-video", 640, 64, 33, RecipeName::diffusers_framewise).tiles.x.size() == 1);
  CHECK(recipe_of("hunyuan-video", 640, 64, 33).tiles.x.size() == 4);
  CHECK(recipe_of("hunyuan-video", 64, 64, 13, RecipeName::diffusers_framewise).tiles.t.size() == 1);
  // The third clip would make a single frame, which it drops.
  CHECK(recipe_of("hunyuan-video", 64, 64, 25, RecipeName::diffusers_framewise).tiles.t.size() == 2);
}

TEST_CASE("recipes are refused where a class has none") {
  CHECK_THROWS_WITH(recipe_of("taesd", 512, 512), Catch::Contains("--recipe diffusers-tiling: the tiles of"));
  CHECK_THROWS_WITH(recipe_of("sdxl", 2048, 512, 1, RecipeName::diffusers_framewise),
                    Catch::Contains("AutoencoderKL decodes all frames as one"));
  CHECK_THROWS_AS(parse_recipe("blended", "--recipe"), InputError);
}

TEST_CASE("tiles that do not lie at whole latent positions are not known") {
  const Axes<int32_t> scale{4, 8, 8};
  CHECK(tiles_of_settings({}, scale, 1, true));
  CHECK_FALSE(tiles_of_settings({.height = 250}, scale, 1, true));
  CHECK_FALSE(tiles_of_settings({.stride_width = 100}, scale, 1, true));
  CHECK_FALSE(tiles_of_settings({.stride_height = 264}, scale, 1, true));
  CHECK_FALSE(tiles_of_settings({.frames = 15}, scale, 1, true));
  CHECK(tiles_of_settings({.frames = 15}, scale, 1, false));
  CHECK_FALSE(tiles_of_settings({}, scale, 3, true));
}

}  // namespace
}  // namespace headroom
