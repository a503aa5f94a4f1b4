#include "planner/search/thrift.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "decoder/schedule/storage.h"
#include "planner/search/frontier.h"
#include "planner/search/make_plan.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/thorough.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Random;

/// A request, limits beside that of the device, and the range of limits that matter.
struct Drawn {
  Model model;
  Request request;
  CostModel costs;
  PlanOptions options;
  int64_t smallest_bytes = 0, ample_bytes = 0;

  Drawn(Random& random, DeviceKind device)
      : model(random.chance(0.3) ? test::model_of(test::random_config(random))
                                 : test::random_model(random, {.operations = random.integer(4, 24),
                                                               .barriers = random.integer(1, 5)})),
        request(test::request_for(model, {1, random.integer(2, 64), random.integer(2, 64)},
                                  random.pick<int64_t>({1, 1, 2}), Dtype::fp32, device)),
        costs(model.graph, device) {
    options.thrift = random.pick<double>({0, 0.01, 0.05});
    if (random.chance(0.3)) {
      const int64_t bytes = random.integer(1, 100) * 65536;
      options.scratch_folder = "/";
      (device == DeviceKind::cpu ? options.scratch_limit_bytes : options.host_limit_bytes) = bytes;
    }
    const Problem problem = under(int64_t{1} << 50);
    smallest_bytes = smallest_plan(problem, spaces_of(problem)).limit_bytes;
    Problem fastest = problem;
    fastest.options.thrift = 0;
    ample_bytes = make_plan(fastest).value().predicted_peak_bytes;
  }
  Problem under(int64_t limit_bytes) const {
    Problem problem{model, request, options, costs};
    problem.options.limit_bytes = limit_bytes;
    return problem;
  }
  int64_t limit(Random& random) const {
    return smallest_bytes +
           static_cast<int64_t>(double(ample_bytes - smallest_bytes) * random.uniform(0, 1.1));
  }
};

TEST_CASE("limits of the scale") {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto bytes = static_cast<int64_t>(std::exp2(random.uniform(12, 50)));
    const int step = limit_step_of(bytes);
    CAPTURE(bytes, step);
    REQUIRE(limit_at(step) <= bytes);
    REQUIRE(limit_at(step + 1) > bytes);
    REQUIRE(limit_step_of(limit_at(step + 30)) == step + 30);
  }
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(limit_at(limit_step_of(most)) > most / 4);
}

TEST_CASE("a thrifty plan is nearly as fast, and no smaller limit of the scale has such a plan") {
  for (uint64_t seed = 0; seed < 200 / test::kCaseStep; seed += test::kSeedStep) {
    CAPTURE(seed);
    Random random(seed);
    Drawn drawn(random, DeviceKind::cpu);
    const int64_t limit_bytes = drawn.limit(random);
    const Plan thrifty = make_plan(drawn.under(limit_bytes)).value();
    const double share = drawn.options.thrift;
    drawn.options.thrift = 0;
    const Plan fastest = make_plan(drawn.under(limit_bytes)).value();
    REQUIRE(thrifty.bound_seconds == Approx(fastest.predicted_seconds).epsilon(1e-9));
    REQUIRE(thrifty.predicted_seconds <= fastest.predicted_seconds * (1 + share + 1e-9));
    REQUIRE(thrifty.predicted_peak_bytes <= fastest.predicted_peak_bytes);
    REQUIRE(thrifty.weights == fastest.weights);
    if (share == 0) continue;
    const int64_t less = limit_at(limit_step_of(thrifty.predicted_peak_bytes - 1));
    drawn.options.weights = thrifty.weights;
    const std::optional<Plan> smaller = make_plan(drawn.under(less));
    if (smaller) REQUIRE(smaller->predicted_seconds >= fastest.predicted_seconds * (1 + share) * (1 - 1e-9));
  }
}

/// Draws for each device. HEADROOM_DRAWS=1000 makes 2,000 pairs of limits, by hand.
uint64_t draws() {
  const char* const asked = std::getenv("HEADROOM_DRAWS");
  return asked == nullptr ? 200 / test::kCaseStep : std::stoull(asked);
}

TEST_CASE("no point of a frontier needs more memory and time than another") {
  const DeviceKind device = GENERATE(DeviceKind::cpu, DeviceKind::cuda);
  for (uint64_t seed = 0; seed < draws() / 4; seed += test::kSeedStep) {
    CAPTURE(name_of(device), seed);
    Random random(seed);
    const Drawn drawn(random, device);
    const std::vector<FrontierPoint> points = frontier(drawn.under(int64_t{1} << 50), 12);
    REQUIRE_FALSE(points.empty());
    for (size_t i = 1; i < points.size(); ++i) {
      CAPTURE(i, points[i].peak_bytes);
      REQUIRE(points[i].peak_bytes < points[i - 1].peak_bytes);
      REQUIRE(points[i].seconds > points[i - 1].seconds);
    }
  }
}

TEST_CASE("more memory never makes a plan slower") {
  const DeviceKind device = GENERATE(DeviceKind::cpu, DeviceKind::cuda);
  for (uint64_t seed = 0; seed < draws(); seed += test::kSeedStep) {
    CAPTURE(name_of(device), seed);
    Random random(seed);
    const Drawn drawn(random, device);
    int64_t less = drawn.limit(random), more = drawn.limit(random);
    if (less > more) std::swap(less, more);
    CAPTURE(less, more, drawn.options.thrift);
    const Plan small = make_plan(drawn.under(less)).value(), large = make_plan(drawn.under(more)).value();
    REQUIRE(small.predicted_peak_bytes <= less);
    // A thrifty plan keeps the weight residency of the fastest one, which may change with the limit.
    const double slower = large.weights == small.weights ? 0 : drawn.options.thrift;
    REQUIRE(large.predicted_seconds <= small.predicted_seconds * (1 + slower + 1e-9));
    if (device != DeviceKind::cpu) continue;
    double seconds = small.weights == WeightResidency::resident
                         ? drawn.costs.weights_seconds(resident_weights_bytes(drawn.model.graph, {}))
                         : 0;
    for (const Pass& pass : small.passes) seconds += pass.predicted_seconds;
    REQUIRE(seconds == Approx(small.predicted_seconds).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace headroom::planner
