#include "decoder/session/progress_events.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

class HeldProgress final : public Progress {
 public:
  void tell(const ProgressNews& news) override {
    if (const auto* steps = std::get_if<StepsDone>(&news)) steps_told.push_back(*steps);
    if (const auto* tile = std::get_if<TileDone>(&news)) tiles_told.push_back(*tile);
  }
  std::vector<StepsDone> steps_told;
  std::vector<TileDone> tiles_told;
};

TEST_CASE("progress: within a tile that takes long its steps are told, and shares never fall") {
  const Graph graph = testing::small_graph();
  Plan plan = testing::small_plan(graph);
  const auto steps = static_cast<int32_t>(plan.passes[0].steps.size());
  REQUIRE(steps >= 3);
  for (const bool weighed : {true, false}) {
    CAPTURE(weighed);
    HeldProgress held;
    ProgressEvents events(held, nullptr, weighed ? &graph : nullptr);
    events.tile_started(plan, 0, 0, 1);
    for (int32_t step = 0; step < steps; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      events.step_done(plan, {.pass = 0, .tile = 0, .step = step});
    }
    REQUIRE(held.steps_told.size() == size_t(steps) - 1);
    double before = 0;
    for (size_t i = 0; i < held.steps_told.size(); ++i) {
      CHECK(held.steps_told[i].steps == int64_t(i) + 1);
      CHECK(held.steps_told[i].of == steps);
      CHECK(held.steps_told[i].share > before);
      before = held.steps_told[i].share;
    }
    REQUIRE(held.tiles_told.size() == 1);
    CHECK(held.tiles_told[0].share > before);
  }
}

TEST_CASE("progress: within a step that takes long its parts are told, and shares never fall") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const auto steps = static_cast<int32_t>(plan.passes[0].steps.size());
  HeldProgress held;
  ProgressEvents events(held, nullptr, &graph);
  events.tile_started(plan, 0, 0, 1);
  for (int32_t step = 0; step < steps; ++step) {
    for (const double share : {0.25, 0.5, 0.75}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      events.step_part_done(plan, {0, 0, step, share});
      events.step_part_done(plan, {0, 0, step, share});  // too soon to be told again
    }
    events.step_done(plan, {.pass = 0, .tile = 0, .step = step});
  }
  REQUIRE(held.steps_told.size() == 3 * size_t(steps));
  double before = 0;
  for (size_t i = 0; i < held.steps_told.size(); ++i) {
    const StepsDone& told = held.steps_told[i];
    CHECK(told.steps == int64_t(i) / 3);
    CHECK(told.of_step == 0.25 * double(i % 3 + 1));
    CHECK(told.share >= before);
    before = told.share;
  }
  CHECK(before > held.steps_told.front().share);
  REQUIRE(held.tiles_told.size() == 1);
  CHECK(held.tiles_told[0].share >= before);
}

}  // namespace
}  // namespace headroom
