#include "planner/search/tile_choice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "planner/search/plan_space.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"

namespace headroom::planner {
namespace {

using test::Random;

struct Decoder {
  std::string name;
  Extent latent;
};

/// Follows random choices to the last state. Calls `look_at` for every choice of each state on the way.
void walk(PlanSpace& space, Random& random, const std::function<void(Choice&)>& look_at) {
  State* state = &space.start();
  while (state->pass < space.passes()) {
    std::vector<Choice>& choices = space.choices(*state);
    for (Choice& choice : choices) {
      space.work_out(*state, choice);
      look_at(choice);
    }
    state = choices[static_cast<size_t>(random.integer(0, std::ssize(choices) - 1))].next;
  }
}

TEST_CASE("the smallest of the few small shapes is the smallest of all shapes") {
  const auto decoder = GENERATE(values<Decoder>({{"sdxl", {1, 130, 75}},
                                                 {"sana-dc-ae-f32c32", {1, 33, 64}},
                                                 {"qwen-image", {1, 96, 128}},
                                                 {"wan2.1", {7, 60, 33}},
                                                 {"wan2.2", {5, 44, 80}},
                                                 {"cogvideox", {7, 40, 60}},
                                                 {"hunyuan-video", {9, 34, 60}},
                                                 {"hunyuan-video-1.5", {6, 23, 40}},
                                                 {"ltx-video", {9, 16, 24}},
                                                 {"open-sora-plan", {5, 32, 40}},
                                                 {"seedvr2", {5, 34, 60}},
                                                 {"svd", {7, 36, 64}}}));
  const DeviceKind device = GENERATE(DeviceKind::cpu, DeviceKind::cuda);
  const Dtype dtype = device == DeviceKind::cpu ? Dtype::fp32 : Dtype::bf16;
  CAPTURE(decoder.name, name_of(device));
  const Model model = resolve_model(decoder.name);
  const CostModel costs(model.graph, device);
  const Request request = test::request_for(model, decoder.latent, 1, dtype, device);
  Configuration configuration;
  if (device == DeviceKind::cuda) {
    configuration.lower_tier = MemoryTier::host;
    configuration.lower_limit_bytes = int64_t{1} << 50;
  }
  PlanSpace space(model, request, configuration, costs);
  Random random(28);
  const auto smallest_of = [](TileChoice& shapes) {
    int64_t bytes = std::numeric_limits<int64_t>::max();
    for (const Shape& shape : shapes.all()) bytes = std::min(bytes, shape.peak_bytes);
    return bytes;
  };
  for (int i = 0; i < (test::kSanitized ? 1 : 3); ++i) {
    walk(space, random, [&](Choice& choice) {
      const int64_t smallest = smallest_of(*choice.shapes);
      CHECK(choice.shapes->within_or_smallest(0).peak_bytes == smallest);
      CHECK(choice.shapes->within_or_smallest(smallest).peak_bytes == smallest);
      CHECK(choice.shapes->within_or_smallest(2 * smallest).peak_bytes <= 2 * smallest);
    });
  }
}

}  // namespace
}  // namespace headroom::planner
