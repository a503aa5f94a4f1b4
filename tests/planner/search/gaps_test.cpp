#include "planner/search/finish_plan.h"

#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/validator/validator.h"
#include "planner/cost/device_costs.h"
#include "planner/search/make_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

struct GapCase {
  const char* model;
  int64_t width, height, frames, batch, limit_mib, host_mib;
};

Request request_of(const GapCase& c) {
  return {c.model, c.width, c.height, c.frames, c.batch, Dtype::bf16, DeviceKind::cuda};
}

TEST_CASE("predicted peaks of plans for CUDA are what their reservations take, within the limit", "[long]") {
  for (const GapCase& c :
       {GapCase{"sdxl", 1024, 1024, 1, 1, 65536, 0}, GapCase{"sdxl", 1024, 1024, 1, 1, 1000, 0},
        GapCase{"sdxl", 2048, 2048, 1, 1, 2048, 0}, GapCase{"sdxl", 4096, 4096, 1, 1, 65536, 0},
        GapCase{"sdxl", 4096, 4096, 1, 1, 8192, 0}, GapCase{"sdxl", 8192, 8192, 1, 1, 24576, 65536},
        GapCase{"sdxl", 8192, 8192, 1, 1, 8192, 65536}, GapCase{"sdxl", 8192, 8192, 1, 1, 5000, 20000},
        GapCase{"sana-dc-ae-f32c32", 2048, 2048, 1, 2, 8192, 0},
        GapCase{"open-sora-plan", 512, 512, 65, 1, 8192, 0}}) {
    CAPTURE(c.model, c.width, c.limit_mib);
    if (test::kSanitized && c.width > 1024) continue;
    const Model model = resolve_model(c.model);
    PlanOptions options;
    options.limit_bytes = c.limit_mib << 20;
    options.host_limit_bytes = c.host_mib << 20;
    const Plan plan =
        make_plan({model, request_of(c), options, CostModel(model.graph, DeviceKind::cuda)}).value();
    CHECK(validate(plan, model).empty());
    CHECK(plan.limit_bytes == options.limit_bytes);
    CHECK(plan.predicted_peak_bytes <= options.limit_bytes);
    const DryRun dry_run = run_dry(model, plan);
    CHECK(plan.predicted_peak_bytes == kLibtorchReservation.taken_bytes(dry_run.bytes()));
    CHECK(dry_run.host.bytes <= options.host_limit_bytes);
    CHECK(plan.host_limit_bytes ==
          (dry_run.host.bytes > 0 ? options.host_limit_bytes : plan.host_limit_bytes));
    // If a tile's edge cuts a position of a coarser tensor, the plan counts the widest tile with one more
    // column.
    CHECK(plan.predicted_peak_bytes - plan.reserve_bytes >= dry_run.live_bytes());
    CHECK(double(plan.predicted_peak_bytes - plan.reserve_bytes) <= 1.001 * double(dry_run.live_bytes()));
    // Convolutions read all inputs while they write blocks. The buffers are therefore large, and gaps remain.
    CHECK(double(dry_run.bytes()) <= 1.04 * double(dry_run.live_bytes()));
  }
}

TEST_CASE("plans for a GPU count what LibTorch's allocator takes, under every limit") {
  const Model model = resolve_model("sd15");
  const CostModel costs(model.graph, DeviceKind::cuda);
  const Request request = request_of({"sd15", 96, 64, 1, 1, 0, 0});
  const Problem none{model, request, {.limit_bytes = 1}, costs};
  const int64_t smallest = quick_smallest_plan(none, spaces_of(none)).limit_bytes;
  CHECK(kLibtorchReservation.taken_bytes(smallest) == smallest);
  CHECK_FALSE(make_plan({model, request, {.limit_bytes = smallest - 1}, costs}));
  test::Random random(7);
  for (int64_t limit = smallest; limit < 4 * smallest; limit += random.integer(1, 3'000'000)) {
    CAPTURE(limit);
    const Plan plan = make_plan({model, request, {.limit_bytes = limit}, costs}).value();
    REQUIRE(plan.limit_bytes == limit);
    REQUIRE(plan.predicted_peak_bytes <= limit);
    REQUIRE(plan.predicted_peak_bytes == kLibtorchReservation.taken_bytes(run_dry(model, plan).bytes()));
  }
}

TEST_CASE("near the smallest limit gaps leave room for the fastest plan") {
  if (test::kSanitized) return;
  const Model model = resolve_model("sana-dc-ae-f32c32");
  const Request request{"sana-dc-ae-f32c32", 2048, 2048, 1, 2, Dtype::fp32, DeviceKind::cuda};
  const PlanOptions options{.limit_bytes = int64_t{694} << 20};
  const Plan plan = make_plan({model, request, options, CostModel(model.graph, DeviceKind::cuda)}).value();
  CHECK(plan.predicted_seconds <= 1.003 * plan.bound_seconds);
  CHECK(double(plan.predicted_peak_bytes) <= 1.01 * double(plan.predicted_peak_bytes - plan.reserve_bytes));
}

TEST_CASE("pinned host memory has room for its gaps too, whatever its limit", "[long]") {
  const Model model = resolve_model("sdxl");
  const CostModel costs(model.graph, DeviceKind::cuda);
  const Request request = request_of({"sdxl", 2048, 1536, 1, 1, 0, 0});
  for (const int64_t host_mib : {2000, 1100}) {
    if (test::kSanitized && host_mib == 1100) continue;
    CAPTURE(host_mib);
    const PlanOptions options{.limit_bytes = int64_t{450} << 20, .host_limit_bytes = host_mib << 20};
    const Plan plan = make_plan({model, request, options, costs}).value();
    const DryRun dry_run = run_dry(model, plan);
    CHECK(dry_run.host.bytes > 0);
    CHECK(dry_run.host.bytes <= options.host_limit_bytes);
    CHECK(plan.host_limit_bytes == options.host_limit_bytes);
  }
}

TEST_CASE("on CUDA the smallest limit has room for gaps, and less has not", "[long]") {
  const Model model = resolve_model("sdxl");
  const Request request = request_of({"sdxl", 1024, 768, 1, 1, 0, 0});
  const CostModel costs(model.graph, DeviceKind::cuda);
  const Problem too_little{model, request, {.limit_bytes = 1 << 20}, costs};
  const int64_t smallest = quick_smallest_plan(too_little, spaces_of(too_little)).limit_bytes;
  const Plan plan = make_plan({model, request, {.limit_bytes = smallest}, costs}).value();
  CHECK(plan.predicted_peak_bytes <= smallest);
  // Some plan with more live bytes than the minimum may still fit below this limit. No plan fits below the
  // minimum.
  const int64_t live_bytes = smallest_over(spaces_of(too_little)).smallest.bytes;
  CHECK(live_bytes <= plan.predicted_peak_bytes - plan.reserve_bytes);
  CHECK_FALSE(make_plan({model, request, {.limit_bytes = live_bytes - 1}, costs}));
}

}  // namespace
}  // namespace headroom::planner
