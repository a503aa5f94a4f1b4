#include <catch2/catch.hpp>

#include "decoder/schedule/lowering.h"
#include "decoder/schedule/memory.h"

namespace headroom {
namespace {

TEST_CASE("memory: attention over keys below the device takes its state beside its workspace",
          "[unit][memory]") {
  Graph graph;
  const TensorId latent = graph.add_latent(8);
  const TensorId q = graph.conv("q", latent, 8, {1, 1, 1}), k = graph.conv("k", latent, 8, {1, 1, 1}),
                 v = graph.conv("v", latent, 8, {1, 1, 1});
  graph.set_output(graph.attention("attention", q, k, v));
  std::vector<bool> kept(graph.tensors().size());
  kept[index(k)] = kept[index(v)] = true;
  PassGoal goal;
  goal.emits = true;
  Pass pass = lower_pass(graph, kept, goal);
  const Sizes sizes{.latent = {1, 6, 5}, .device = DeviceKind::cuda};
  pass.tiles = {{{0, 1}}, {{0, 3}, {3, 6}}, {{0, 5}}};
  MemoryModel memory;
  memory.workspace_bytes = [](const Op& op, ConvolutionAlgorithm, const Extent& tile, const Sizes&) {
    return op.kind == OpKind::attention ? 1000 * positions(tile) : 0;
  };
  memory.attention_state_bytes = [](const Op& op, const Extent& tile) {
    return op.kind == OpKind::attention ? 7 * positions(tile) : int64_t{1} << 40;
  };
  const auto workspace_of = [&](OpKind kind, const std::vector<TensorId>& staged) {
    const std::vector<StepBytes> bytes = step_bytes(graph, pass, Extent{1, 3, 5}, sizes, memory, staged);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (pass.steps[i].kind == kind) return bytes[i].workspace;
    }
    FAIL("no such step");
    return int64_t{0};
  };
  CHECK(workspace_of(OpKind::attention, {}) == 15'000);
  CHECK(workspace_of(OpKind::attention, {k, v}) == 15'000 + 7 * 15);
  CHECK(workspace_of(OpKind::conv, {k, v}) == 0);
}

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
