#include <catch2/catch.hpp>
#include <map>

#include "planner/search/plan_space.h"
#include "tests/support/exact_costs.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

namespace headroom::planner {
namespace {

/// Least seconds of a choice, without a limit.
double fastest_seconds(PlanSpace& space, const State& state, Choice& choice) {
  space.work_out(state, choice);
  return choice.beside_seconds + choice.shapes->seconds(0);
}

/// Checks that the bound of each state is consistent with those of its successors.
void check_bound(PlanSpace& space) {
  // Least seconds that later passes spend on recomputation, by state. The choice that leads to a state
  // determines them.
  std::map<State*, double> reached{{&space.start(), 0}};
  for (size_t pass = 0; pass < space.passes(); ++pass) {
    std::map<State*, double> next;
    for (const auto& [state, recompute_seconds] : reached) {
      const double bound = space.least_seconds_from(pass) + recompute_seconds;
      for (Choice& choice : space.choices(*state)) {
        const double after = space.least_seconds_from(pass + 1) + choice.recompute_seconds;
        const double seconds = fastest_seconds(space, *state, choice);
        CHECK(bound <= (seconds + after) * (1 + 1e-12));
        const auto [known, is_new] = next.try_emplace(choice.next, choice.recompute_seconds);
        CHECK(known->second == choice.recompute_seconds);
      }
    }
    reached = std::move(next);
  }
  for (const auto& [end, recompute_seconds] : reached) CHECK(recompute_seconds == 0);
}

TEST_CASE("the bound falls by no more than a choice costs, so no state is expanded twice") {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const bool odd = random.chance(0.5);
    const Model model = test::random_model(random, {.operations = random.integer(4, 14),
                                                    .barriers = random.integer(1, 3),
                                                    .odd = odd ? 0.6 : 0,
                                                    .cut_points = odd ? 0.5 : 0,
                                                    .past_cut_points = 0.7});
    const auto device = random.pick<DeviceKind>({DeviceKind::cpu, DeviceKind::cuda});
    const auto dtype = random.pick<Dtype>({Dtype::fp32, Dtype::bf16});
    const Extent latent{1, random.integer(2, 12), 9};
    const Request request = test::request_for(model, latent, 1, dtype, device);
    const CostModel costs = test::exact_costs(model.graph, device);
    Configuration configuration;
    configuration.weights =
        random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass});
    if (random.chance(0.5)) {
      configuration.lower_tier = MemoryTier::host;
      configuration.lower_limit_bytes = int64_t{1} << 30;
    }
    PlanSpace space(model, request, configuration, costs);
    check_bound(space);
  }
}

/// in -> norm -> wide -> norm -> out. A 1 x 1 kernel makes `wide` from few channels.
Model cheap_and_wide_model() {
  Model model;
  Graph& graph = model.graph;
  const auto normed = [&](const std::string& name, TensorId x) {
    return graph.norm(name, x, graph.statistics(name + ".statistics", x, 1, 1e-6), Activation::silu);
  };
  const TensorId start = graph.conv("in", graph.add_latent(4), 4, {1, 1, 1});
  const TensorId wide = graph.conv("wide", normed("norm1", start), 64, {1, 1, 1});
  graph.set_output(graph.conv("out", normed("norm2", wide), 3, {1, 1, 1}));
  return model;
}

TEST_CASE("the bound counts recomputing a tensor where that is cheaper than storing it") {
  const Model model = cheap_and_wide_model();
  const TensorId wide = model.graph.find_tensor("wide");
  const CostModel costs(model.graph);
  PlanSpace space(model, test::request_for(model, {1, 64, 64}), {}, costs);
  const Sizes& sizes = space.catalog()->sizes();
  REQUIRE(costs.least_seconds(model.graph.tensor(wide).producer, sizes) <
          costs.least_store_seconds(wide, sizes));
  check_bound(space);
}

}  // namespace
}  // namespace headroom::planner
