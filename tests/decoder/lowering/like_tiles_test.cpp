#include "decoder/lowering/like_tiles.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/lowering/tiles.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

TEST_CASE("columns are like the first in which every step's tile is as wide, but for those at the edges") {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    test::Random random(seed);
    const Model model = test::model_of(test::random_config(random));
    const Extent latent{1, random.integer(2, 6), random.integer(6, 30)};
    test::RandomStyle style;
    style.untiled_columns = 0;
    const Plan plan =
        test::random_plan(model, test::request_for(model, latent), 1, style, MemoryModel{}, random).plan;
    CAPTURE(seed, latent.x);
    for (const Pass& pass : plan.passes) {
      const std::vector<Interval>& columns = pass.tiles.x;
      const std::vector<size_t> like = like_columns(model.graph, pass, latent);
      REQUIRE(like.size() == columns.size());
      CHECK(like.front() == 0);
      CHECK(like.back() == like.size() - 1);
      const auto as_wide = [&](size_t a, size_t b) {
        return std::all_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
          Step measured = step;
          measured.tensor = measured_tensor(step);
          return tile_positions(model.graph, pass, measured, Axis::x, columns[a], latent).length() ==
                 tile_positions(model.graph, pass, measured, Axis::x, columns[b], latent).length();
        });
      };
      for (size_t i = 1; i + 1 < like.size(); ++i) {
        size_t first = 1;
        while (!as_wide(first, i)) ++first;
        CHECK(like[i] == first);
      }
    }
  }
}

TEST_CASE(
    "chunks are like the first in which every step's tile has as many frames, but for the first and last") {
  int64_t left_out = 0, apart = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    test::Random random(seed);
    const test::DrawnModel drawn =
        seed % 2 > 0 ? test::random_wan_config(random) : test::random_causal_config(random);
    const Extent latent{random.integer(4, 9), 3, 3};
    const Model model = for_frames(drawn.model, latent.t);
    test::RandomStyle style;
    style.untiled_frames = 0;
    const Plan plan =
        test::random_plan(model, test::request_for(model, latent), 1, style, MemoryModel{}, random).plan;
    CAPTURE(seed, drawn.text, latent.t);
    for (const Pass& pass : plan.passes) {
      const std::vector<size_t> like = like_chunks(model.graph, pass, latent);
      REQUIRE(like.size() == pass.tiles.t.size());
      CHECK(like.front() == 0);
      CHECK(like.back() == like.size() - 1);
      for (size_t i = 1; i + 1 < like.size(); ++i) {
        ++(like[i] < i ? left_out : apart);
        for (const Step& step : pass.steps) {
          if (!makes_tile(step)) continue;
          const auto frames = [&](size_t chunk) {
            const Region tile{pass.tiles.t[chunk], pass.tiles.y.front(), pass.tiles.x.front()};
            return std::pair(tile_region(model.graph, pass, step, tile, latent).t.length(),
                             fresh_positions(model.graph, pass, step, Axis::t, tile.t, latent).length());
          };
          CHECK(frames(like[i]) == frames(i));
          if (step.kind == StepKind::attention) CHECK(like[i] == i);
        }
      }
    }
  }
  CHECK(left_out > 20);
  CHECK(apart > 20);
}

}  // namespace
}  // namespace headroom
