#include "decoder/schedule/lowering.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/tiles.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::Random;

TEST_CASE("an axis is cut without gap or overlap") {
  for (int64_t length = 1; length <= 40; ++length) {
    for (int64_t tile = 1; tile <= 45; ++tile) {
      const std::vector<Interval> intervals = cut(length, tile);
      int64_t next = 0;
      for (const Interval& interval : intervals) {
        CHECK(interval.begin == next);
        CHECK(interval.length() == std::min(tile, length - next));
        next = interval.end;
      }
      CHECK(next == length);
    }
  }
}

TEST_CASE("the image of a grid interval is every position that it touches") {
  CHECK(image({3, 5}, 4, 1) == Interval{12, 20});
  CHECK(image({3, 5}, 1, 4) == Interval{0, 2});
  CHECK(image({4, 8}, 1, 4) == Interval{1, 2});
  CHECK(image({0, 7}, 2, 2) == Interval{0, 7});
  // Images of neighbouring positions in a finer tensor do not overlap.
  for (int64_t at = 0; at < 20; ++at)
    CHECK(image({at, at + 1}, 8, 2).end == image({at + 1, at + 2}, 8, 2).begin);
}

TEST_CASE("the targets of all passes are the graph's barriers, each once") {
  const uint64_t seed = 11;
  CAPTURE(seed);
  Random random(seed);
  for (int trial = 0; trial < 30; ++trial) {
    const nlohmann::json config = test::random_config(random);
    CAPTURE(config.dump());
    const Model model = test::model_of(config);
    const Graph& graph = model.graph;
    std::map<OpId, int> measured;
    std::map<TensorId, int> whole;
    int emits = 0;
    const std::vector<BarrierTargets> targets = barrier_targets(graph);
    for (const BarrierTargets& target : targets) {
      for (OpId op : target.statistics) ++measured[op];
      for (TensorId id : target.kept) ++whole[id];
      emits += target.emits ? 1 : 0;
    }
    CHECK(emits == 1);
    CHECK(targets.back().emits);
    for (size_t i = 0; i < graph.ops().size(); ++i) {
      const Op& op = graph.ops()[i];
      CHECK(measured[OpId{static_cast<int32_t>(i)}] == (op.kind == OpKind::statistics ? 1 : 0));
      if (op.kind == OpKind::attention) CHECK((whole[op.inputs[1]] == 1 && whole[op.inputs[2]] == 1));
    }
  }
}

/// Counts steps by kind, add and target in a plan that keeps everything.
std::map<std::string, int> steps_of(const Model& model, DeviceKind device, Dtype dtype) {
  Request request = test::request_for(model, {1, 8, 8});
  request.device = device;
  request.dtype = dtype;
  Random random(3);
  test::RandomStyle style;
  style.keep = style.in_place = style.untiled_rows = style.untiled_columns = 1;
  style.late = 0;
  MemoryModel memory;
  memory.block_bytes = 1 << 12;
  const Plan plan = test::random_plan(model, request, 1, style, memory, random).plan;
  std::map<std::string, int> counts;
  for (const Pass& pass : plan.passes) {
    for (const Step& step : pass.steps)
      ++counts[std::string(name_of(step.kind)) + (step.add != OpId{-1} ? " + add " : " ") +
               name_of(step.target)];
  }
  return counts;
}

TEST_CASE("on a GPU convolutions add residuals and write what is kept") {
  const Model model = test::model_of(test::tiny_config());
  std::map<std::string, int> on_cpu = steps_of(model, DeviceKind::cpu, Dtype::bf16);
  std::map<std::string, int> on_cuda = steps_of(model, DeviceKind::cuda, Dtype::bf16);
  CHECK(on_cpu["conv blocks"] + on_cpu["conv + add in_place"] + on_cpu["conv + add tile"] == 0);
  CHECK(on_cpu["store tile"] > 0);
  CHECK(on_cuda["conv blocks"] > 0);
  CHECK(on_cuda["conv + add in_place"] > 0);
  CHECK(on_cuda["accumulate tile"] == 0);
  CHECK(on_cuda["store tile"] < on_cpu["store tile"]);
  int64_t convolutions = 0;
  for (const auto& [step, count] : on_cuda) convolutions += step.rfind("conv", 0) == 0 ? count : 0;
  CHECK(convolutions >= on_cpu["conv tile"]);

  // Libraries have no fused add kernels in fp32.
  std::map<std::string, int> wide = steps_of(model, DeviceKind::cuda, Dtype::fp32);
  CHECK(wide["conv blocks"] > 0);
  CHECK(wide["conv + add in_place"] + wide["conv + add tile"] + wide["conv + add blocks"] == 0);
  CHECK(wide["accumulate tile"] == on_cpu["accumulate tile"]);
}

/// Steps of an untiled decode in which two convolutions read one norm, as kind, tensor and padding.
std::vector<std::string> edged_steps(Edges first, Edges second, int32_t side_of_second) {
  Model model;
  Graph& graph = model.graph;
  const TensorId x = graph.rms_norm("norm", graph.add_latent(4), 1e-6, Activation::silu);
  const TensorId one = graph.conv("one", x, 4, {1, 3, 3}, {.edges = first});
  const TensorId two = graph.conv("two", x, 4, {1, side_of_second, side_of_second}, {.edges = second});
  graph.set_output(graph.add("sum", one, two));
  std::vector<std::string> list;
  const Plan plan = untiled_plan(model, test::request_for(model, {1, 5, 5}));
  for (const Step& step : plan.passes[0].steps) {
    list.push_back(std::string(name_of(step.kind)) + " " + graph.tensor(step.tensor).name);
    if (step.pad.y > 0) list.back() += std::string(" ") + name_of(step.edges);
  }
  return list;
}

TEST_CASE("what makes a tile fills it for its readers, of readers with other edges each copies its own") {
  using Steps = std::vector<std::string>;
  CHECK(edged_steps(Edges::replicate, Edges::replicate, 3) ==
        Steps{"rms_norm norm replicate", "conv one", "conv two", "add sum", "emit sum"});
  CHECK(edged_steps(Edges::replicate, Edges::reflect, 3) == Steps{"rms_norm norm", "gather norm replicate",
                                                                  "conv one", "gather norm reflect",
                                                                  "conv two", "add sum", "emit sum"});
  // A 1 x 1 kernel never reads outside, so its padding mode does not matter.
  CHECK(edged_steps(Edges::zeros, Edges::replicate, 1) == Steps{"rms_norm norm", "gather norm zeros",
                                                                "conv one", "gather norm", "conv two",
                                                                "add sum", "emit sum"});
}

TEST_CASE("a goal that only a later pass could serve is refused") {
  const Model model = test::model_of(test::tiny_config());
  const std::vector<bool> nothing(model.graph.tensors().size(), false);
  PassGoal output;
  output.emits = true;
  CHECK_THROWS_AS(lower_pass(model.graph, nothing, output), std::logic_error);
  CHECK_THROWS_AS(lower_pass(model.graph, nothing, {}), std::logic_error);
}

}  // namespace
}  // namespace headroom
