#include "decoder/lowering/like_columns.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/lowering/tiles.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

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
          return tile_columns(model.graph, pass, measured, columns[a], latent).length() ==
                 tile_columns(model.graph, pass, measured, columns[b], latent).length();
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

}  // namespace
}  // namespace headroom
