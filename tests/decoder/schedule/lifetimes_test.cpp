#include "decoder/schedule/lifetimes.h"

#include <catch2/catch.hpp>

#include "decoder/schedule/lowering.h"

namespace headroom {
namespace {

TEST_CASE("lifetimes: a tile stays until a convolution has added it as its residual", "[unit][memory]") {
  Graph graph;
  const TensorId start = graph.conv("start", graph.add_latent(8), 8, {1, 1, 1});
  const TensorId change = graph.conv("change", start, 8, {1, 1, 1});
  const TensorId again = graph.conv("again", change, 8, {1, 1, 1});
  graph.set_output(graph.add("sum", again, start));
  PassGoal goal;
  goal.emits = true;
  goal.fusion = {true, true};
  const Pass pass = lower_pass(graph, std::vector<bool>(graph.tensors().size()), goal);
  const auto step_of = [&](const char* tensor) {
    for (size_t i = 0; i < pass.steps.size(); ++i) {
      if (pass.steps[i].kind == OpKind::conv && graph.tensor(pass.steps[i].tensor).name == tensor) return i;
    }
    FAIL("no convolution makes " << tensor);
    return size_t{0};
  };
  const size_t made = step_of("start"), added = step_of("sum");
  REQUIRE(pass.steps[added].add == graph.find_op("sum"));
  REQUIRE(pass.steps[added].inputs.back() == Operand{start, static_cast<int32_t>(made)});
  CHECK(last_uses(pass)[made] == added);
  const Lifetime lifetime = tile_lifetimes(pass)[made];
  CHECK(lifetime.begin == made);
  CHECK(lifetime.end == added + 1);
}

}  // namespace
}  // namespace headroom
