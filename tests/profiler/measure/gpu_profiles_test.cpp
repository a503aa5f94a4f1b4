// Runs twice: in the emulated GPU, and on a real one.
#include <catch2/catch.hpp>
#include <memory>

#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "profiler/measure/collect.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

TEST_CASE("a GPU is profiled by the time that it takes, and plans by its profile are decoded", "[long]") {
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  if (!gpu) return;
  start_libraries(2);
  const Model model = test::model_of(test::tiny_config({8}));
  ProfileRequest request;
  request.model = model.name;
  request.sizes = {{12, 12}};
  request.dtype = Dtype::bf16;
  request.repeats = 1;
  request.weights_source = "random";
  const Profile profile = collect_profile(
      model, request, test::random_source(1), [](double, double, const std::string&) {}, gpu.get());
  CHECK(profile.device == gpu->device());
  CHECK(profile.libraries == gpu->libraries());
  CHECK(profile.weights_bytes_per_second > 0);
  CHECK(profile.to_host_bytes_per_second > 0);
  CHECK(profile.from_host_bytes_per_second > 0);
  CHECK(profile.sizes[0].seconds > 0);
  for (const LatencyTable& latency_table : profile.latency_tables) {
    CAPTURE(latency_table.name);
    CHECK(latency_table.seconds.front() > 1e-9);
    CHECK(latency_table.seconds.back() < 1);
  }
  const Request planned{model.name, 20, 16, 1, 1, Dtype::bf16, DeviceKind::cuda};
  const planner::CostModel costs(model.graph, profile, planned);
  const Plan plan = planner::make_plan({model, planned, {.limit_bytes = int64_t{1} << 28}, costs}).value();
  CHECK_FALSE(plan.assumed);
  const test::Decoded decoded = test::on_gpu(*gpu, model, plan, test::latent_for(model, planned, 1), 1);
  CHECK(decoded.stats.predicted_seconds == plan.predicted_seconds);
}

}  // namespace
}  // namespace headroom::profiler
