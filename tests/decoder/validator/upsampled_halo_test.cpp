#include <catch2/catch.hpp>
#include <iterator>

#include "decoder/schedule/build_plan.h"
#include "tests/decoder/validator/validator_check.h"

namespace headroom {
namespace {

using testing::accepts;
using testing::refuses;

TEST_CASE("validator: a tile for a convolution over upsampling needs its halo on every side",
          "[unit][validator]") {
  Model model;
  Graph& graph = model.graph;
  graph.set_output(graph.upsampled_conv("conv", graph.add_latent(16), 3));
  const DeviceKind device = GENERATE(DeviceKind::cpu, DeviceKind::cuda);
  CAPTURE(name_of(device));
  const Request request{"small", 16, 16, 1, 1, Dtype::fp32, device};
  Plan plan = build_plan(model, request, {}, {{.tile = {1, 4, 4}}}, {});
  plan.limit_bytes = plan.predicted_peak_bytes;
  accepts(plan, graph);
  const Step& gather = plan.passes[0].steps[0];
  REQUIRE(gather.kind == OpKind::gather);
  REQUIRE(gather.halo == testing::kOneAround);
  using Side = int32_t& (*)(Halo&);
  const Side sides[] = {[](Halo& halo) -> int32_t& { return halo.before.y; },
                        [](Halo& halo) -> int32_t& { return halo.after.y; },
                        [](Halo& halo) -> int32_t& { return halo.before.x; },
                        [](Halo& halo) -> int32_t& { return halo.after.x; }};
  for (size_t i = 0; i < std::size(sides); ++i) {
    CAPTURE(i);
    Plan lacking = plan;
    sides[i](lacking.passes[0].steps[0].halo) = 0;
    refuses(lacking, graph, Violation::missing_halo, "passes[0].steps[1] (conv)");
  }
}

}  // namespace
}  // namespace headroom
