#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/schedule/lowering.h"

namespace headroom {
namespace {

constexpr Fusion kAllFused{true, true};

const Step* convolution_of(const Pass& pass, TensorId tensor) {
  const auto found = std::find_if(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return step.kind == OpKind::conv && step.tensor == tensor;
  });
  return found == pass.steps.end() ? nullptr : &*found;
}

/// start -> change -> sum = change + start. With `twice`, an activation of `change` is also added.
Graph changed_graph(bool twice) {
  Graph graph;
  const TensorId start = graph.conv("start", graph.add_latent(8), 8, {1, 3, 3});
  const TensorId change = graph.conv("change", start, 8, {1, 3, 3});
  TensorId sum = graph.add("sum", change, start);
  if (twice) sum = graph.add("both", sum, graph.activate("active", change, Activation::silu));
  graph.set_output(sum);
  return graph;
}

TEST_CASE("fusion: a convolution adds a residual unless another step reads its result", "[unit]") {
  for (const bool twice : {false, true}) {
    CAPTURE(twice);
    const Graph graph = changed_graph(twice);
    PassGoal goal;
    goal.emits = true;
    goal.fusion = kAllFused;
    const Pass pass = lower_pass(graph, std::vector<bool>(graph.tensors().size()), goal);
    const Step* const own = convolution_of(pass, graph.find_tensor("change"));
    const Step* const fused = convolution_of(pass, graph.find_tensor("sum"));
    CHECK((own != nullptr) == twice);
    CHECK((fused != nullptr) == !twice);
    // Each operand is the latent, or a tile that an earlier step made.
    for (const Step& step : pass.steps) {
      for (const Operand& operand : step.inputs) {
        if (operand.step < 0) {
          CHECK(operand.tensor == graph.input());
        } else {
          CHECK(pass.steps[static_cast<size_t>(operand.step)].tensor == operand.tensor);
        }
      }
    }
  }
}

TEST_CASE("fusion: a convolution that keeps the first frame adds no residual", "[unit]") {
  for (const bool keeps : {false, true}) {
    CAPTURE(keeps);
    Graph graph;
    const TensorId start = graph.add_picture(8, {2, 2, 2});
    const TensorId change = graph.strided_conv("change", start, 8, {3, 1, 1}, {2, 1, 1},
                                               {.over_frames = true, .keeps_first_frame = keeps});
    const TensorId mean = graph.space_to_depth("mean", start, 8, {2, 1, 1}, {.frames = 2});
    graph.set_output(graph.add("sum", change, mean));
    PassGoal goal;
    goal.emits = true;
    goal.fusion = kAllFused;
    // The mean exists before the convolution runs.
    std::vector<bool> kept(graph.tensors().size());
    kept[index(mean)] = true;
    const Pass pass = lower_pass(graph, kept, goal);
    CHECK((convolution_of(pass, graph.find_tensor("sum")) == nullptr) == keeps);
  }
}

TEST_CASE("fusion: a convolution writes a kept tensor, and statistics read its blocks", "[unit]") {
  Graph graph;
  const TensorId start = graph.conv("start", graph.add_latent(8), 8, {1, 3, 3});
  const TensorId statistics = graph.statistics("statistics", start, 2, 1e-6);
  graph.set_output(graph.norm("norm", start, statistics, Activation::silu));
  PassGoal goal;
  goal.statistics = {graph.find_op("statistics")};
  goal.keeps = {start};
  goal.fusion = kAllFused;
  const Pass pass = lower_pass(graph, std::vector<bool>(graph.tensors().size()), goal);
  const Step* const made = convolution_of(pass, start);
  REQUIRE(made != nullptr);
  CHECK(made->target == StepTarget::blocks);
  for (const Step& step : pass.steps) {
    CHECK(step.kind != OpKind::store);
    if (step.kind == OpKind::statistics) CHECK(step.inputs[0].step == -1);
  }
}

}  // namespace
}  // namespace headroom
