#include "planner/search/pass_option.h"

#include <catch2/catch.hpp>

#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "decoder/schedule/build_plan.h"

namespace headroom::planner {
namespace {

/// The last pass of a decode that keeps no optional tensors. It contains all of the decoder that barriers do
/// not need.
Pass longest_pass(const Model& model, const Request& request) {
  const std::vector<PassDecision> decisions(barrier_targets(model.graph).size());
  return build_plan(model, request, {}, decisions, {}).passes.back();
}

TEST_CASE("the coarsest convolutions become direct first, those over upsampling before others") {
  const Model model = resolve_model("sdxl");
  const Graph& graph = model.graph;
  const Pass pass = longest_pass(model, {"sdxl", 64, 64, 1, 1, Dtype::fp32});
  const std::vector<ConvolutionAlgorithms> list =
      pass_algorithms(graph, pass, device_record(DeviceKind::cpu).algorithms);
  CHECK(list.front() == ConvolutionAlgorithms(ConvolutionAlgorithm::direct));
  REQUIRE(list.size() > 3);
  CHECK(list[1] == ConvolutionAlgorithms(ConvolutionAlgorithm::winograd));
  for (size_t i = 2; i < list.size(); ++i) {
    const std::vector<OpId>&fewer = list[i - 1].direct, &more = list[i].direct;
    REQUIRE(more.size() == fewer.size() + 1);
    CHECK(std::equal(fewer.begin(), fewer.end(), more.begin()));
    if (fewer.empty()) continue;
    const Op &before = graph.op(fewer.back()), &after = graph.op(more.back());
    const int32_t scale_before = graph.tensor(before.inputs[0]).scale.y,
                  scale_after = graph.tensor(after.inputs[0]).scale.y;
    CHECK(scale_before <= scale_after);
    if (scale_before == scale_after) CHECK(before.factor.y >= after.factor.y);
  }
  // The last entry leaves only one kernel in Winograd form.
  CHECK(list.back().direct.size() + 2 == list.size());
  CHECK(pass_algorithms(graph, pass, device_record(DeviceKind::cuda).algorithms).size() == 1);
}

TEST_CASE("a pass without 3x3 kernels has one choice of algorithms") {
  const Model model = resolve_model("sdxl");
  Pass pass = longest_pass(model, {"sdxl", 64, 64, 1, 1, Dtype::fp32});
  std::erase_if(pass.steps, [](const Step& step) { return step.kind == OpKind::conv; });
  CHECK(pass_algorithms(model.graph, pass, device_record(DeviceKind::cpu).algorithms).size() == 1);
}

}  // namespace
}  // namespace headroom::planner
