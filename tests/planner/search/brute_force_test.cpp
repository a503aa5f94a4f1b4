#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "decoder/base/errors.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/validator/validator.h"
#include "planner/search/make_plan.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/simulated_gpu.h"
#include "tests/support/thorough.h"

namespace headroom::planner {
namespace {

using test::Assumptions;
using test::OracleConfiguration;
using test::PlanOracle;
using test::Random;

constexpr size_t kMostChoices = 250;  // of one pass, which keeps pricing fast

Configuration planner_configuration(const OracleConfiguration& configuration) {
  return {configuration.micro_batch, configuration.weights, configuration.lower_tier,
          configuration.lower_limit_bytes};
}

struct Drawn {
  Model model;
  Request request;
  OracleConfiguration configuration;
  Assumptions assumptions;
};

/// Settings for random graphs.
struct Style {
  bool large = false;          ///< up to ten passes instead of two to five
  double odd = 0;              ///< share of blocks that occur in no model family
  double cut_points = 0;       ///< share of blocks that end at an optional cut point
  double past_cut_points = 0;  ///< share of these that skips cross
  DeviceKind device = DeviceKind::cpu;
};

/// Draws a case. Some graphs are wide, so that tensors have several blocks.
Drawn draw(uint64_t seed, const Style& style) {
  const DeviceKind device = style.device;
  Random random(seed);
  Drawn drawn;
  const bool wide = random.chance(0.1);
  drawn.model =
      test::random_model(random, {.operations = style.large ? random.integer(16, 40) : random.integer(2, 16),
                                  .barriers = random.integer(1, 3) * (style.large ? 3 : 1),
                                  .most_channels = wide ? 64 : 24,
                                  .long_skip = random.pick<double>({0, 0.3, 0.9}),
                                  .odd = style.odd,
                                  .cut_points = style.cut_points,
                                  .past_cut_points = style.past_cut_points});
  const int64_t columns = wide ? random.integer(500, 4000) : random.integer(3, 60);
  const Extent latent{1, random.integer(2, 20), columns};
  const auto batch = random.pick<int64_t>({1, 1, 1, 3});
  drawn.request =
      test::request_for(drawn.model, latent, batch, random.pick<Dtype>({Dtype::fp32, Dtype::bf16}), device);
  drawn.configuration.micro_batch = random.pick<int64_t>({1, drawn.request.batch});
  drawn.configuration.weights =
      random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass});
  if (random.chance(0.5)) {
    drawn.configuration.lower_tier = device == DeviceKind::cuda
                                         ? MemoryTier::host
                                         : random.pick<MemoryTier>({MemoryTier::host, MemoryTier::scratch});
    // Room for all blocks, or for only some.
    drawn.configuration.lower_limit_bytes =
        random.chance(0.5) ? int64_t{1} << 40 : random.integer(1, 60) * 4096;
  }
  drawn.assumptions = test::assumptions_for(drawn.request);
  if (device == DeviceKind::cuda) drawn.assumptions.card = test::random_card(random);
  drawn.assumptions.memory = CostModel(drawn.model.graph, device).memory();
  return drawn;
}

/// Limits from the smallest feasible one to practically unlimited.
std::vector<int64_t> limits(int64_t smallest, int64_t fixed, Random& random) {
  const int64_t above = smallest - fixed;
  return {smallest, smallest + random.integer(1, above), smallest + random.integer(1, 3 * above),
          int64_t{1} << 50};
}

/// Style for each hundred of seeds.
Style style_of(uint64_t hundred) {
  const bool on_cpu = hundred < 30 || (hundred >= 40 && hundred < 46);
  return {.large = hundred >= 44,
          .odd = (hundred >= 20 && hundred < 25) || hundred >= 35 ? 0.6 : 0,
          .cut_points = hundred < 25 ? 0 : 0.5,
          .past_cut_points = hundred < 40 ? 0 : 0.7,
          .device = on_cpu ? DeviceKind::cpu : DeviceKind::cuda};
}

TEST_CASE("the planner finds what trying every plan of the stated space finds") {
  const uint64_t hundred = GENERATE(range(uint64_t{0}, uint64_t{48}, test::kCaseStep));
  const Style style = style_of(hundred);
  int tried = 0;
  const uint64_t count = (style.large ? 30 : 100) / test::kCaseStep;
  for (uint64_t seed = hundred * 100; seed < hundred * 100 + count; ++seed) {
    CAPTURE(seed);
    const Drawn d = draw(seed, style);
    const PlanOracle oracle(d.model, d.request, d.configuration, d.assumptions, kMostChoices);
    if (!oracle.complete()) continue;
    ++tried;
    const CostModel costs = test::assumed_costs(d.model.graph, d.request.device, d.assumptions.card);
    PlanSpace space(d.model, d.request, planner_configuration(d.configuration), costs);
    REQUIRE(space.passes() == oracle.passes());
    const SmallestLimit smallest = smallest_limit(space);
    REQUIRE(smallest.bytes == oracle.smallest_peak());
    CHECK_FALSE(fastest(space, smallest.bytes - 1).solution.has_value());
    Random random(seed);
    for (const int64_t limit : limits(smallest.bytes, space.fixed_bytes(), random)) {
      CAPTURE(limit, smallest.bytes);
      const SpaceSearch search = fastest(space, limit);
      const std::optional<Solution>& found = search.solution;
      REQUIRE(found.has_value());
      REQUIRE(search.in_time);
      REQUIRE(search.bound_seconds == Approx(found->seconds).epsilon(1e-9));
      REQUIRE(found->seconds == Approx(oracle.fewest_seconds(limit)).epsilon(1e-9));
      REQUIRE(found->peak_bytes <= limit);
    }
  }
  CHECK(tried >= (style.large ? 10 : 50) / int(test::kCaseStep));
}

/// Every configuration that the options allow, according to docs/planning.md.
std::vector<OracleConfiguration> configurations_of(const Request& request, const PlanOptions& options) {
  std::vector<OracleConfiguration> configurations;
  for (const int64_t micro_batch : std::vector<int64_t>{request.batch, 1}) {
    for (const WeightResidency weights : {WeightResidency::resident, WeightResidency::per_pass}) {
      if (options.weights && *options.weights != weights) continue;
      configurations.push_back({micro_batch, weights, {}, 0});
      if (options.host_limit_bytes > 0)
        configurations.push_back({micro_batch, weights, MemoryTier::host, options.host_limit_bytes});
      if (options.scratch_limit_bytes > 0)
        configurations.push_back({micro_batch, weights, MemoryTier::scratch, options.scratch_limit_bytes});
    }
  }
  return configurations;
}

/// Seconds to move blocks between passes, according to docs/planning.md.
double moving_seconds(const Model& model, const Plan& plan, const GpuCard& card) {
  double seconds = 0;
  for (const auto& copies : run_dry(model, plan).copies_by_pass()) {
    for (const Copy& copy : copies) {
      const double on_card = card.kernel_seconds + 2 * double(copy.bytes) / card.dram_bytes_per_second;
      seconds += std::max(on_card, card.launch_seconds);
    }
  }
  return seconds * double(plan.request.batch / plan.micro_batch);
}

TEST_CASE("over all configurations, the plan is the fastest of the stated space, and its file says so") {
  const uint64_t ten = GENERATE(range(uint64_t{0}, uint64_t{28}, test::kCaseStep));
  const DeviceKind device = ten < 20 ? DeviceKind::cpu : DeviceKind::cuda;
  int tried = 0;
  for (uint64_t seed = 50000 + ten * 10; seed < 50000 + (ten + 1) * 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Drawn d = draw(seed, {.device = device});
    PlanOptions options;
    options.scratch_folder = "/";
    if (random.chance(0.5) && device == DeviceKind::cuda)
      options.host_limit_bytes = random.integer(1, 100) * 8192;
    if (random.chance(0.5) && device == DeviceKind::cpu)
      options.scratch_limit_bytes = random.integer(1, 100) * 8192;
    if (random.chance(0.3))
      options.weights = random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass});
    std::vector<std::unique_ptr<PlanOracle>> oracles;
    bool complete = true;
    int64_t smallest = std::numeric_limits<int64_t>::max();
    for (const OracleConfiguration& configuration : configurations_of(d.request, options)) {
      oracles.push_back(
          std::make_unique<PlanOracle>(d.model, d.request, configuration, d.assumptions, kMostChoices));
      complete = complete && oracles.back()->complete();
      if (!complete) break;
      smallest = std::min(smallest, oracles.back()->smallest_peak());
    }
    if (!complete) continue;
    ++tried;
    const CostModel costs = test::assumed_costs(d.model.graph, device, d.assumptions.card);
    options.limit_bytes = smallest - 1;
    CHECK_FALSE(make_plan({d.model, d.request, options, costs}));
    for (const int64_t limit : limits(smallest, smallest / 2, random)) {
      options.limit_bytes = limit;
      const std::vector<OracleConfiguration> configurations = configurations_of(d.request, options);
      double fewest = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < configurations.size(); ++i) {
        const double start = oracles[i]->start_seconds();
        fewest = std::min(fewest, start + (oracles[i]->fewest_seconds(limit) - start) *
                                              double(d.request.batch / configurations[i].micro_batch));
      }
      CAPTURE(limit, smallest);
      const ConfigurationSearch search =
          fastest_over(spaces_of({d.model, d.request, options, costs}), d.request, limit);
      REQUIRE(search.best->seconds == Approx(fewest).epsilon(1e-9));
      REQUIRE(search.bound_seconds == Approx(fewest).epsilon(1e-9));
      // The oracle does not model gaps between live blocks. The larger limit leaves room for them.
      if (device == DeviceKind::cuda) options.limit_bytes = limit + limit / 2;
      const Plan plan = make_plan({d.model, d.request, options, costs}).value();
      REQUIRE(plan.predicted_peak_bytes <= options.limit_bytes);
      if (device == DeviceKind::cpu) {
        REQUIRE(plan.predicted_seconds == Approx(fewest).epsilon(1e-9));
        REQUIRE(plan.bound_seconds == Approx(fewest).epsilon(1e-9));
        REQUIRE(plan.optimal);
      }
      REQUIRE(validate(plan, d.model).empty());
      // Price the plan itself with the oracle's costs.
      const test::SimulatedPlan walked = simulate(d.model.graph, plan, d.assumptions);
      const int64_t gaps = device == DeviceKind::cuda ? plan.reserve_bytes : 0;
      REQUIRE(walked.peak_bytes == plan.predicted_peak_bytes - gaps);
      const double moving =
          device == DeviceKind::cuda ? moving_seconds(d.model, plan, d.assumptions.card) : 0;
      REQUIRE(walked.seconds + moving == Approx(plan.predicted_seconds).epsilon(1e-9));
    }
  }
  CHECK(tried >= 3);
}

}  // namespace
}  // namespace headroom::planner
