#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/schedule/build_plan.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

TEST_CASE("dry run: a plan takes what it predicts, however large the limit is under which it decodes") {
  // A small limit makes the placement move blocks between passes. A large one leaves them where they are, in
  // a larger reservation.
  int64_t moved = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Model model = test::model_of(test::random_config(random));
    const Extent latent{1, random.integer(4, 10), random.integer(2, 8)};
    const Request request = test::request_for(model, latent, 1, Dtype::bf16, DeviceKind::cuda);
    test::RandomStyle style;
    style.keep = 0.8;
    style.untiled_rows = 0;
    style.most_tiles = 8;
    style.form = ConvolutionAlgorithm::direct;
    MemoryModel memory;
    memory.block_bytes = 700;
    Plan plan = test::random_plan(model, request, 1, style, memory, random).plan;
    const int64_t live_bytes = run_dry_within(model, plan, 0).live_bytes();
    plan.predicted_peak_bytes = run_dry_within(model, plan, live_bytes).bytes();
    plan.limit_bytes = int64_t{1} << 30;
    moved += run_dry_within(model, plan, plan.limit_bytes).bytes() > plan.predicted_peak_bytes ? 1 : 0;
    CHECK(run_dry(model, plan).bytes() <= plan.predicted_peak_bytes);
  }
  CHECK(moved > 0);
}

/// Two passes. Offsets are by request: weights and a tile of the first pass, a block that stays for the
/// second, weights of that.
DryRun two_passes(const std::vector<int64_t>& offsets) {
  DryRun dry_run;
  MemoryRequests& requests = dry_run.requests;
  dry_run.passes.push_back(requests.events().size());
  const int64_t first = requests.ask(100);
  const int64_t block = requests.ask(100, {}, true);
  const int64_t tile = requests.ask(100);
  requests.hand_back(tile);
  requests.hand_back(first);
  dry_run.passes.push_back(requests.events().size());
  const int64_t second = requests.ask(100);
  requests.hand_back(block);
  requests.hand_back(second);
  dry_run.placement.offsets = offsets;
  return dry_run;
}

size_t event_of_second(const DryRun& dry_run) {
  const std::vector<WeightsAhead> ahead = weights_ahead(dry_run);
  CHECK(ahead.size() == 2);
  CHECK(ahead[1].offset == dry_run.placement.offsets[3]);
  return ahead[1].event;
}

TEST_CASE("weights of a pass come ahead once nothing lies in their place") {
  const size_t begin = two_passes({}).passes[1];
  CHECK(event_of_second(two_passes({0, 100, 200, 300})) == 1);     // right after the first pass's
  CHECK(event_of_second(two_passes({0, 100, 200, 250})) == 4);     // after the tile
  CHECK(event_of_second(two_passes({0, 100, 200, 50})) == begin);  // after the first pass's weights
  CHECK(event_of_second(two_passes({0, 100, 200, -50})) == begin);
}

TEST_CASE("weights do not come ahead where blocks are moved away or put aside") {
  const int64_t begin = 5;
  DryRun moved = two_passes({0, 100, 200, 100});
  moved.placement.moves = {{begin, 1, 100, 100, 300}};
  CHECK(event_of_second(moved) == begin);
  DryRun elsewhere = two_passes({0, 100, 200, 400});
  elsewhere.placement.moves = {{begin, 1, 100, 100, 300}};
  CHECK(event_of_second(elsewhere) == 1);
  DryRun aside = two_passes({0, 100, 200, 400});
  aside.placement.moves = {{begin, 1, 100, 100, 450}, {begin, 1, 100, 450, 50}};
  CHECK(event_of_second(aside) == begin);
}

/// small_graph() on CUDA with conv_in in the host's memory.
Plan plan_with_host_tensor(const Model& model) {
  Request request{"small", 16, 16, 1, 2, Dtype::bf16};
  request.device = DeviceKind::cuda;
  const TensorId start = model.graph.find_tensor("conv_in");
  const std::vector<PassDecision> decisions{{.keeps = {start}, .below = {start}, .tile = {1, 3, 8}},
                                            {.tile = {1, 6, 16}}};
  Plan plan = build_plan(model, request, {.micro_batch = 2, .lower_tier = MemoryTier::host}, decisions, {});
  plan.limit_bytes = int64_t{1} << 30;
  plan.host_limit_bytes = int64_t{1} << 30;
  return plan;
}

TEST_CASE("limit check: a plan whose tensors exceed the host limit by a byte is refused") {
  Model model;
  model.graph = testing::small_graph();
  Plan plan = plan_with_host_tensor(model);
  const int64_t host_bytes = host_layout(model.graph, plan).bytes;
  REQUIRE(host_bytes > 0);
  plan.host_limit_bytes = host_bytes;
  CHECK(run_dry_within_limit(model, plan, {}).host.bytes == host_bytes);
  plan.host_limit_bytes = host_bytes - 1;
  CHECK_THROWS_AS(run_dry_within_limit(model, plan, {}), LimitExceeded);
  // Weights in pinned memory count as well.
  plan.host_limit_bytes = host_bytes + 99;
  plan.host_weights_bytes = 100;
  CHECK_THROWS_WITH(run_dry_within_limit(model, plan, {}),
                    Catch::Contains("limit " + std::to_string(host_bytes + 99)));
}

TEST_CASE("limit check: a reservation beyond the limit by a byte is refused") {
  Model model;
  model.graph = testing::small_graph();
  Plan plan = plan_with_host_tensor(model);
  plan.limit_bytes = run_dry(model, plan).bytes();
  plan.predicted_peak_bytes = plan.limit_bytes;
  CHECK_NOTHROW(run_dry_within_limit(model, plan, {}));
  plan.limit_bytes -= 1;
  CHECK_THROWS_AS(run_dry_within_limit(model, plan, {}), LimitExceeded);
}

}  // namespace
}  // namespace headroom
