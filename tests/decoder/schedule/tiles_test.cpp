#include <catch2/catch.hpp>

#include "decoder/schedule/tiles.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

/// Class of one tile along an axis, computed step by step from the tile's region.
TileClass counted(const Graph& graph, const Pass& pass, Axis axis, const Interval& tile,
                  const Extent& latent) {
  TileClass counted;
  counted.has_before = tile.begin > 0 && pass.carries(axis);
  Region grid{pass.tiles.t.front(), pass.tiles.y.front(), pass.tiles.x.front()};
  at(grid, axis) = tile;
  for (Step step : pass.steps) {
    step.tensor = measured_tensor(step);
    const Region region = tile_region(graph, pass, step, grid, latent);
    const int64_t present = at(region, axis).length();
    counted.present.push_back(present);
    // Excludes positions handed on from earlier tiles, apart from positions before the start of the clip or
    // picture.
    const Interval fresh = tile_axis(graph, pass, step, step.tensor, axis, latent).made(tile);
    const bool carried =
        counted.has_before && pass.carried_axis() == axis && carried_positions(pass, step) > 0;
    CHECK((carried || fresh == at(region, axis)));
    counted.made.push_back(fresh.length());
  }
  return counted;
}

struct Seen {
  size_t alike = 0, unlike = 0, carried = 0;
};

void check_axis(const Graph& graph, const Pass& pass, Axis axis, const std::vector<Interval>& tiles,
                const Extent& latent, Seen& seen) {
  const TileClasses found = tile_classes(measured_axes(graph, pass, axis, latent), tiles);
  REQUIRE(found.class_of.size() == tiles.size());
  std::vector<TileClass> classes;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const TileClass tile = counted(graph, pass, axis, tiles[i], latent);
    size_t number = 0;
    while (number < classes.size() && !classes[number].alike(tile)) ++number;
    ++(number < classes.size() ? seen.alike : seen.unlike);
    if (number == classes.size()) classes.push_back(tile);
    ++classes[number].count;
    CHECK(found.class_of[i] == number);
    seen.carried += tile.made != tile.present;
  }
  REQUIRE(found.classes.size() == classes.size());
  for (size_t i = 0; i < classes.size(); ++i) {
    CHECK(found.classes[i].alike(classes[i]));
    CHECK(found.classes[i].count == classes[i].count);
  }
}

TEST_CASE("tiles are in one class where every step makes and has as many positions as in the other tiles") {
  Axes<Seen> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    test::Random random(seed);
    const bool is_clip = seed % 3 == 0;
    const test::DrawnModel drawn =
        seed % 2 > 0 ? test::random_wan_config(random) : test::random_causal_config(random);
    const Extent latent{is_clip ? random.integer(4, 9) : 1, random.integer(2, is_clip ? 4 : 24),
                        random.integer(2, is_clip ? 4 : 30)};
    const Model model =
        is_clip ? for_frames(drawn.model, latent.t) : test::model_of(test::random_config(random));
    test::RandomStyle style;
    style.untiled_columns = style.untiled_frames = 0;
    style.carries = 0.7;
    const Plan plan =
        test::random_plan(model, test::request_for(model, latent), 1, style, MemoryModel{}, random).plan;
    CAPTURE(seed, is_clip, latent.t, latent.y, latent.x);
    for (const Pass& pass : plan.passes) {
      check_axis(model.graph, pass, Axis::t, pass.tiles.t, latent, seen.t);
      check_axis(model.graph, pass, Axis::y, pass.tiles.y, latent, seen.y);
      check_axis(model.graph, pass, Axis::x, pass.tiles.x, latent, seen.x);
    }
  }
  for (const Seen& along : {seen.t, seen.y, seen.x}) CHECK((along.alike > 20 && along.unlike > 20));
  CHECK((seen.t.carried > 20 && seen.y.carried > 20 && seen.x.carried == 0));
}

}  // namespace
}  // namespace headroom
