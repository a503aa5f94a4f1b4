#include <catch2/catch.hpp>

#include "planner/search/pass_catalog.h"
#include "tests/support/random_plan.h"

namespace headroom::planner {
namespace {

/// Model of one attention with this many channels.
Model attention_model(int64_t channels) {
  Model model;
  Graph& graph = model.graph;
  const TensorId latent = graph.add_latent(4);
  const TensorId q = graph.conv("q", latent, channels, {1, 1, 1}),
                 k = graph.conv("k", latent, channels, {1, 1, 1}),
                 v = graph.conv("v", latent, channels, {1, 1, 1});
  graph.set_output(graph.conv("out", graph.attention("attention", q, k, v), 3, {1, 1, 1}));
  return model;
}

TEST_CASE("shapes of a pass wait for keys and values that come block by block") {
  const Model model = attention_model(256);
  const Request request = test::request_for(model, {1, 32, 32});
  const CostModel costs(model.graph);
  PassCatalog catalog(model, request, 1, costs);
  const TensorId k = model.graph.find_tensor("k"), v = model.graph.find_tensor("v");
  const std::vector<TensorId> present{k, v};
  const std::vector<KeepSet>& sets = catalog.keep_sets(1, present);
  REQUIRE(sets.size() == 1);
  catalog.work(1, present, sets[0]);
  const PassOption& option = catalog.option(1, present, sets[0], {});
  const std::vector<MemoryTier> on_device(option.touched().size(), MemoryTier::device),
      in_file(option.touched().size(), MemoryTier::scratch);
  REQUIRE_FALSE(option.stages(on_device));
  REQUIRE(option.stages(in_file));
  int waiting = 0;
  for (const std::vector<MemoryTier>& tiers : {on_device, in_file}) {
    for (const Shape& shape : catalog.priced(option, tiers, WeightResidency::resident).all()) {
      CAPTURE(shape.height, shape.width);
      const double staging = option.staging_seconds(shape, tiers);
      waiting += staging > 0 ? 1 : 0;
      CHECK(shape.seconds == Approx(CostModel::sweep_seconds(option.seconds(shape), option.transfers(tiers),
                                                             option.bands(shape.height)) +
                                    staging)
                                 .epsilon(1e-12));
    }
  }
  CHECK(waiting > 0);
}

}  // namespace
}  // namespace headroom::planner
