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

TEST_CASE("progress: within tiles and steps that take long their parts are told, and shares never fall") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const auto steps = static_cast<int32_t>(plan.passes[0].steps.size());
  REQUIRE(steps >= 3);
  const auto [weighed, in_parts] = GENERATE(table<bool, bool>({{true, false}, {false, false}, {true, true}}));
  CAPTURE(weighed, in_parts);
  HeldProgress held;
  ProgressEvents events(held, nullptr, weighed ? &graph : nullptr);
  events.tile_started(plan, 0, 0, 1);
  for (int32_t step = 0; step < steps; ++step) {
    for (const double share : in_parts ? std::vector{0.25, 0.5, 0.75} : std::vector<double>{}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      events.step_part_done(plan, {0, 0, step, share});
      events.step_part_done(plan, {0, 0, step, share});  // too soon after the last report
    }
    if (!in_parts) std::this_thread::sleep_for(std::chrono::milliseconds(110));
    events.step_done(plan, {.pass = 0, .tile = 0, .step = step});
  }
  REQUIRE(held.steps_told.size() == (in_parts ? 3 * size_t(steps) : size_t(steps) - 1));
  double before = 0;
  for (size_t i = 0; i < held.steps_told.size(); ++i) {
    const StepsDone& told = held.steps_told[i];
    CHECK(told.of == steps);
    CHECK(told.steps == (in_parts ? int64_t(i) / 3 : int64_t(i) + 1));
    CHECK(told.of_step == (in_parts ? 0.25 * double(i % 3 + 1) : 0));
    CHECK((in_parts ? told.share >= before : told.share > before));
    before = told.share;
  }
  CHECK(before > held.steps_told.front().share);
  REQUIRE(held.tiles_told.size() == 1);
  CHECK(held.tiles_told[0].share >= before);
}

}  // namespace
}  // namespace headroom
