
#include <catch2/catch.hpp>
#include <limits>

#include "decoder/families/load_model.h"
#include "decoder/validator/validator.h"
#include "planner/cost/exchange_costs.h"
#include "planner/search/make_plan.h"
#include "tests/support/exact_costs.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom::planner {
namespace {

using test::Random;

constexpr int64_t kNoLimit = int64_t{1} << 50;
constexpr Link kEthernet{1.25e9, 1e-4};

std::vector<int64_t> equal_limits(int32_t ranks, int64_t limit) {
  return std::vector<int64_t>(static_cast<size_t>(ranks), limit);
}

/// Largest peak of all ranks, in bytes.
int64_t most_bytes(const Plans& plan) {
  int64_t most = 0;
  for (const Plan& own : plan.plans) most = std::max(most, own.predicted_peak_bytes);
  return most;
}

/// Requires a valid plan in which every rank is within its limit.
void require_sound(const Plans& plan, const Model& model, const std::vector<int64_t>& limits) {
  REQUIRE(plan.plans.size() == limits.size());
  for (size_t rank = 0; rank < limits.size(); ++rank) {
    CAPTURE(rank);
    REQUIRE(plan.plans[rank].predicted_peak_bytes <= limits[rank]);
    REQUIRE(plan.plans[rank].limit_bytes == limits[rank]);
    REQUIRE(plan.predicted_seconds >= plan.plans[rank].predicted_seconds * (1 - 1e-9));
  }
  const std::vector<Violation> violations = validate(plan, model);
  if (!violations.empty()) FAIL(violations[0].place << ": " << violations[0].what);
}

TEST_CASE("a plan for one rank is the plan of a single decode") {
  const Model model = test::model_of(test::tiny_config());
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    const CostModel costs = test::exact_costs(model.graph, device);
    const Request request = test::request_for(model, {1, 20, 24}, 2, Dtype::fp32, device);
    for (const int64_t limit :
         {kNoLimit, smallest_plans({model, request, {}, costs}, {1, kEthernet}).plans[0].limit_bytes}) {
      const Plan single = make_plan({model, request, {.limit_bytes = limit}, costs}).value();
      const Plans ranked = make_plans({model, request, {}, costs}, {1, kEthernet}, {limit}).value();
      require_sound(ranked, model, {limit});
      CHECK(ranked.predicted_seconds == single.predicted_seconds);
      CHECK(ranked.transfers.empty());
      CHECK(ranked.sent == std::vector<SentBytes>{{}});
      Plan own = ranked.plans.at(0);
      CHECK(own.share == RankShare{0, 1, {0, 20}});
      own.share = single.share;
      CHECK(own == single);
    }
  }
}

/// A random model of some family.
Model drawn_model(Random& random) {
  switch (random.integer(0, 3)) {
    case 0:
      return test::model_of(test::random_wan_config(random));
    case 1:
      return test::model_of(test::random_dc_config(random));
    case 2:
      return test::model_of(test::random_causal_config(random));
    default:
      return test::model_of(test::random_config(random));
  }
}

TEST_CASE("drawn problems: ranks keep to their limits, down to the smallest") {
  const int last = test::kSanitized ? 10 : 40;
  for (int seed = 0; seed < last; ++seed) {
    CAPTURE(seed);
    Random random(static_cast<uint64_t>(seed));
    const Model model = drawn_model(random);
    const Extent latent{1, random.integer(1, 13), random.integer(1, 9)};
    const auto batch = random.pick<int64_t>({1, 1, 2});
    const auto dtype = random.pick<Dtype>({Dtype::fp32, Dtype::bf16});
    const auto device = random.pick<DeviceKind>({DeviceKind::cpu, DeviceKind::cpu, DeviceKind::cuda});
    const Request request = test::request_for(model, latent, batch, dtype, device);
    const CostModel costs = test::exact_costs(model.graph, request.device);
    const Problem problem{model, request, {}, costs};
    const Ranks ranks{static_cast<int32_t>(random.integer(1, 5)),
                      {random.uniform(1e6, 1e11), random.uniform(0, 1e-3)}};
    CAPTURE(ranks.count, request.height_pixels, model.class_name);
    const int64_t smallest = most_bytes(smallest_plans(problem, ranks));
    const Plans fastest = make_plans(problem, ranks, equal_limits(ranks.count, kNoLimit)).value();
    const int64_t most = most_bytes(fastest);
    for (const int64_t limit : {kNoLimit, most, (smallest + most) / 2, smallest}) {
      std::vector<int64_t> limits = equal_limits(ranks.count, limit);
      limits.back() += random.integer(0, 1000);
      const std::optional<Plans> plan = make_plans(problem, ranks, limits);
      REQUIRE(plan);
      require_sound(*plan, model, limits);
      CHECK(plan->link == ranks.link);
    }
  }
}

size_t bands_of(const Plan& plan) {
  size_t bands = 0;
  for (const Pass& pass : plan.passes) bands += pass.tiles.y.size();
  return bands;
}

TEST_CASE("a smaller limit for each rank gives more bands, and a rank needs less than the whole") {
  const Model model = resolve_model("sdxl");
  const CostModel costs(model.graph);
  const Request request = test::request_for(model, {1, 64, 64});
  const Problem problem{model, request, {}, costs};
  const Ranks ranks{4, kEthernet};
  const Plans fastest = make_plans(problem, ranks, equal_limits(4, kNoLimit)).value();
  const int64_t smallest = most_bytes(smallest_plans(problem, ranks));
  const Plans tight = make_plans(problem, ranks, equal_limits(4, smallest)).value();
  CHECK(bands_of(tight.plans[1]) > bands_of(fastest.plans[1]));
  CHECK(tight.predicted_seconds > fastest.predicted_seconds);
  CHECK_FALSE(tight.plans[1].optimal);
  CHECK(tight.plans[1].bound_seconds == 0);

  const Plans alone = make_plans(problem, {1, kEthernet}, {kNoLimit}).value();
  CHECK(fastest.predicted_seconds < alone.predicted_seconds / 3);
  CHECK(most_bytes(fastest) < most_bytes(alone) * 2 / 3);
}

TEST_CASE("rows are exchanged for each convolution where the link is fast, and recomputed where it is slow") {
  const Model model = resolve_model("sdxl");
  const CostModel costs(model.graph);
  const Problem problem{model, test::request_for(model, {1, 64, 64}), {}, costs};
  const std::vector<int64_t> limits = equal_limits(4, kNoLimit);
  const Plans fast = make_plans(problem, {4, {1e12, 0}}, limits).value();
  const Plans slow = make_plans(problem, {4, {1e5, 0.2}}, limits).value();
  CHECK(fast.plans[0].kept.size() > slow.plans[0].kept.size());
  CHECK(fast.transfers.size() > slow.transfers.size());
  // Each plan is better on the link that it was made for.
  const auto on = [&](Plans plan, const Link& link) {
    plan.link = link;
    return exchanged_seconds(model.graph, plan);
  };
  CHECK(on(fast, fast.link) < on(slow, fast.link));
  CHECK(on(slow, slow.link) < on(fast, slow.link));
}

TEST_CASE("limits by rank: the smallest of them holds for all") {
  const Model model = test::model_of(test::tiny_config());
  const CostModel costs(model.graph);
  const Problem problem{model, test::request_for(model, {1, 40, 40}), {}, costs};
  const Ranks ranks{3, kEthernet};
  const int64_t smallest = most_bytes(smallest_plans(problem, ranks));
  std::vector<int64_t> limits{kNoLimit, smallest + 4096, kNoLimit / 2};
  require_sound(make_plans(problem, ranks, limits).value(), model, limits);
  limits[2] = smallest / 2;
  CHECK_FALSE(make_plans(problem, ranks, limits));
}

TEST_CASE("tensors of ranks do not live below the device") {
  const Model model = test::model_of(test::tiny_config());
  const CostModel costs(model.graph);
  const Request request = test::request_for(model, {1, 8, 8});
  const auto with = [&](const PlanOptions& options) {
    return make_plans({model, request, options, costs}, {2, kEthernet}, equal_limits(2, kNoLimit));
  };
  CHECK_THROWS_WITH(with({.host_limit_bytes = 1 << 20}), "--host-limit: not with --ranks");
  CHECK_THROWS_WITH(with({.scratch_limit_bytes = 1 << 20, .scratch_folder = "/"}),
                    "--scratch: not with --ranks");
}

}  // namespace
}  // namespace headroom::planner
