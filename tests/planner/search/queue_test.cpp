#include "planner/search/queue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "decoder/base/errors.h"
#include "decoder/plan/requests_file.h"
#include "decoder/validator/validator.h"
#include "tests/support/random_queue.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Random;

const Model& tiny() {
  static const Model model = test::model_of(test::tiny_config());
  return model;
}

/// Plans as the program does, and records the shapes that it is asked to plan.
struct CountingPlanner {
  int64_t limit_bytes;
  std::vector<Request> asked;
  Plan operator()(const Request& request) {
    asked.push_back(request);
    const CostModel costs(tiny().graph);
    const Problem problem{tiny(), request, {.limit_bytes = limit_bytes}, costs};
    if (std::optional<Plan> plan = make_plan(problem)) return *std::move(plan);
    const int64_t smallest = quick_smallest_plan(problem, spaces_of(problem)).limit_bytes;
    throw DoesNotFit("the smallest limit that works has " + std::to_string(smallest) + " bytes", smallest);
  }
};

RequestQueue planned(const RequestQueue& queue, int64_t limit_bytes, CountingPlanner& planner) {
  return plan_queue(queue, tiny(), {.model = "tiny"}, limit_bytes, std::ref(planner), "requests.json");
}

auto shape_of(const QueuedRequest& r) {
  return std::tuple(r.width_pixels, r.height_pixels, r.frames, r.batch);
}
auto shape_of(const Request& r) {
  return std::tuple(r.width_pixels, r.height_pixels, r.frames, r.batch);
}

TEST_CASE("a planned queue has every decode once, the largest need first, and equal shapes together") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{20}));
  CAPTURE(seed);
  Random random(seed);
  const RequestQueue queue = test::random_queue(random, 8, 12, 4);
  const int64_t limit = int64_t{64} << 20;
  CountingPlanner planner{limit, {}};
  const RequestQueue result = planned(queue, limit, planner);
  CHECK(result.requests == queue.requests);
  CHECK(result.limit_bytes == limit);

  std::set<std::pair<int32_t, int32_t>> decodes;
  int64_t expected = 0;
  for (const QueuedRequest& request : queue.requests) expected += request.count;
  std::vector<int32_t> plans_in_turn;
  for (const QueuedDecode& decode : result.order) {
    CHECK(decodes.insert({decode.request, decode.repetition}).second);
    const QueuedRequest& request = queue.requests.at(static_cast<size_t>(decode.request));
    CHECK(decode.repetition < request.count);
    CHECK(shape_of(result.plans.at(static_cast<size_t>(decode.plan)).request) == shape_of(request));
    if (plans_in_turn.empty() || plans_in_turn.back() != decode.plan) plans_in_turn.push_back(decode.plan);
  }
  CHECK(static_cast<int64_t>(decodes.size()) == expected);
  // Each shape is one run of decodes and is planned once.
  CHECK(plans_in_turn.size() == result.plans.size());
  CHECK(planner.asked.size() == result.plans.size());
  CHECK(std::set<int32_t>(plans_in_turn.begin(), plans_in_turn.end()).size() == result.plans.size());

  double seconds = 0;
  int64_t before = INT64_MAX;
  for (const QueuedDecode& decode : result.order) {
    const Plan& plan = result.plans[static_cast<size_t>(decode.plan)];
    CHECK(plan.predicted_peak_bytes <= before);
    before = plan.predicted_peak_bytes;
    seconds += plan.predicted_seconds;
  }
  for (const Plan& plan : result.plans) {
    CHECK(plan.limit_bytes == limit);
    CHECK(validate(plan, tiny()).empty());
  }
  const QueuePrediction prediction = predict(result);
  const Plan& first = result.plans[static_cast<size_t>(result.order[0].plan)];
  CHECK(prediction.peak_bytes == first.predicted_peak_bytes);
  CHECK(prediction.pool_bytes == first.predicted_peak_bytes - first.reserve_bytes);
  CHECK(prediction.seconds == Approx(seconds));

  // The result survives a round trip through its file.
  const nlohmann::json document = to_json(result, tiny().graph);
  CHECK(planned_queue_from_json(JsonFields(document, "queue.json"), tiny().graph) == result);
  CHECK(document["pool_bytes"] == prediction.pool_bytes);
  CHECK(document["predicted"]["peak_bytes"] == prediction.peak_bytes);
}

TEST_CASE("decodes of equal shapes stay in the order of the requests") {
  RequestQueue queue;
  const auto add = [&](int64_t width, int64_t count) {
    queue.requests.push_back({std::to_string(queue.requests.size()), width, 24, 1, 1, count, {}, "", ""});
  };
  add(24, 2);
  add(48, 1);
  add(24, 1);
  add(48, 2);
  CountingPlanner planner{int64_t{64} << 20, {}};
  const RequestQueue result = planned(queue, planner.limit_bytes, planner);
  const std::vector<QueuedDecode> expected{{1, 0, 0}, {3, 0, 0}, {3, 1, 0}, {0, 0, 1}, {0, 1, 1}, {2, 0, 1}};
  CHECK(result.order == expected);
}

TEST_CASE("what does not fit names the request that needs the most, and a limit that suits all") {
  const uint64_t seed = GENERATE(range(uint64_t{100}, uint64_t{106}));
  CAPTURE(seed);
  Random random(seed);
  const RequestQueue queue = test::random_queue(random, 8, 6, 2);
  CountingPlanner none{0, {}};
  int64_t smallest = 0;
  try {
    planned(queue, 0, none);
    FAIL("nothing fits into nothing");
  } catch (const DoesNotFit& refused) {
    smallest = refused.smallest_limit_bytes;
    CHECK_THAT(refused.what(), Catch::StartsWith("requests.json: requests[") &&
                                   Catch::Contains("(\"request ") &&
                                   Catch::Contains("smallest limit that works") &&
                                   Catch::Contains(std::to_string(smallest) + " bytes"));
  }
  CountingPlanner enough{smallest, {}};
  CHECK(predict(planned(queue, smallest, enough)).peak_bytes <= smallest);
  CountingPlanner less{smallest - 1, {}};
  CHECK_THROWS_AS(planned(queue, smallest - 1, less), DoesNotFit);
}

TEST_CASE("a size that the model cannot decode is refused by request") {
  RequestQueue queue;
  queue.requests.push_back({"good", 24, 24, 1, 1, 1, {}, "", ""});
  queue.requests.push_back({"odd\nname", 25, 24, 1, 1, 1, {}, "", ""});
  CountingPlanner planner{int64_t{64} << 20, {}};
  try {
    planned(queue, planner.limit_bytes, planner);
    FAIL("expected a refusal");
  } catch (const InputError& refused) {
    CHECK_THAT(refused.what(), Catch::StartsWith("requests.json: requests[1] (\"odd\\nname\"): "));
  }
}

}  // namespace
}  // namespace headroom::planner
