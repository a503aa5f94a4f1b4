#include "profiler/measure/device_recorder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "decoder/base/errors.h"
#include "decoder/session/session.h"
#include "decoder/session/trace_recorder.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "profiler/events/join_events.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding.h"
#include "tests/support/exact_costs.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

using gpu::EmulatedGpu;
using test::request_for;

struct Case {
  Model model = test::model_of(test::tiny_config({16, 32}));
  Plan plan;
  Array latent;

  explicit Case(DeviceKind device, double share = 1, int64_t batch = 1) {
    const Request request = request_for(model, {1, 9, 12}, batch, Dtype::fp32, device);
    const planner::CostModel costs = test::exact_costs(model.graph, device);
    planner::PlanOptions options;
    options.limit_bytes = int64_t{1} << 29;
    plan = planner::make_plan({model, request, options, costs}).value();
    const int64_t ample = plan.predicted_peak_bytes;
    for (; share < 1; share += 0.05) {
      options.limit_bytes = static_cast<int64_t>(double(ample) * share);
      if (std::optional<Plan> smaller = planner::make_plan({model, request, options, costs})) {
        plan = *std::move(smaller);
        break;
      }
    }
    latent = test::latent_for(model, request, 5);
  }

  RecordedDecode record(DeviceWatcher& watcher, gpu::Gpu* gpu, bool allocator = true) const {
    start_libraries(2);
    return record_decode(model, plan, test::random_source(5), latent,
                         {.watcher = watcher, .gpu = gpu, .allocator = allocator});
  }
};

/// Writes down which scopes the host was in.
class Listening final : public DeviceWatcher {
 public:
  int64_t now_ns() const override { return ++now_; }
  void enter(ScopeId scope) noexcept override { scopes.push_back(scope); }
  void finish(const std::function<void(DeviceEvent)>& hear) noexcept override {
    finished = true;
    hear(RecordsLost{3});
  }
  std::vector<TraceSource> sources() const override { return {{"listening", true, "well"}}; }

  std::vector<ScopeId> scopes;
  bool finished = false;

 private:
  mutable int64_t now_ = 0;
};

TEST_CASE("a decode on a GPU is recorded with all that the driver counts") {
  const bool allocator = GENERATE(true, false);
  const double share = GENERATE(1.0, 0.75);
  const int64_t batch = GENERATE(1, 2);
  CAPTURE(allocator, share, batch);
  const Case decode(DeviceKind::cuda, share, batch);
  EmulatedGpu gpu(int64_t{1} << 30);
  const auto watcher = std::make_unique<NoWatcher>();
  const RecordedDecode recorded = decode.record(*watcher, &gpu, allocator);
  const Trace trace = join_events(recorded.recording, decode.plan);
  CHECK(trace.records_lost == 0);
  CHECK(trace.device == "emulated GPU");
  CHECK(trace.sources.size() == (allocator ? 1 : 0));

  // Before, between and after its passes.
  REQUIRE(trace.driver.size() == trace.passes.size() + 2);
  KindBytes live{}, most{};
  size_t sample = 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    apply(trace.events[i], live);
    int64_t sum = 0;
    for (size_t kind = 0; kind < kEventKinds; ++kind) {
      REQUIRE(live[kind] >= 0);
      most[kind] = std::max(most[kind], live[kind]);
      sum += live[kind];
    }
    const bool moment_ends =
        i + 1 == trace.events.size() || trace.events[i + 1].seconds > trace.events[i].seconds;
    while (sample < trace.driver.size() && trace.driver[sample].seconds < trace.events[i].seconds) ++sample;
    if (moment_ends && sample < trace.driver.size() &&
        trace.driver[sample].seconds == trace.events[i].seconds)
      CHECK(sum == trace.driver[sample].bytes);
  }
  // The offsets in a reservation leave gaps: no more is ever live than was reserved.
  const int64_t reserved = recorded.stats.pool_peak_bytes;
  int64_t own = 0;
  for (size_t kind = 0; kind < kDecodeKinds; ++kind) {
    CHECK(live[kind] == 0);
    if (kind != static_cast<size_t>(MemoryKind::workspace)) CHECK(most[kind] > 0);
    own += most[kind];
  }
  CHECK(own >= decode.plan.weights_bytes);
  CHECK(most[static_cast<size_t>(MemoryKind::slack)] >= reserved);
  CHECK(most[static_cast<size_t>(MemoryKind::context)] >= EmulatedGpu::kContextBytes);
  CHECK(live[static_cast<size_t>(MemoryKind::slack)] == (allocator ? 0 : reserved));
  size_t steps = 0;
  for (const TraceStepSum& sum : trace.step_sums) steps += static_cast<size_t>(sum.calls);
  CHECK(steps == trace.steps.size());
  int64_t items = 0;
  for (const TraceInterval& pass : trace.passes) items = std::max(items, pass.item);
  CHECK(items < batch);
}

TEST_CASE("whoever watches knows for which step the host asks") {
  const Case decode(DeviceKind::cuda);
  EmulatedGpu gpu(int64_t{1} << 30);
  Listening watcher;
  const RecordedDecode recorded = decode.record(watcher, &gpu);
  CHECK(watcher.finished);
  std::vector<ScopeId> began;
  for (const DeviceEvent& event : recorded.recording.events) {
    if (const auto* scope = std::get_if<ScopeBegan>(&event)) began.push_back(scope->scope);
  }
  began.push_back(kNoScope);
  CHECK(watcher.scopes == began);
  const Trace trace = join_events(recorded.recording, decode.plan);
  CHECK(trace.records_lost == 3);
  CHECK(std::count(trace.sources.begin(), trace.sources.end(), TraceSource{"listening", true, "well"}) == 1);
}

TEST_CASE("a trace of a GPU that is made as it happens has what the driver counts beside it") {
  const Case decode(DeviceKind::cuda);
  EmulatedGpu gpu(int64_t{1} << 30);
  start_libraries(2);
  test::MemorySink sink(test::picture_shape(decode.model, decode.plan.request));
  TraceRecorder recorder;
  headroom::decode(decode.model, decode.plan, test::random_source(5), decode.latent, sink,
                   {&recorder, {}, &gpu});
  const Trace trace = recorder.finish();
  KindBytes live{};
  for (const TraceEvent& event : trace.events) {
    apply(event, live);
    for (int64_t bytes : live) REQUIRE(bytes >= 0);
  }
  // Beside what was reserved, which the driver gives in pieces.
  const int64_t context = live[static_cast<size_t>(MemoryKind::context)] - EmulatedGpu::kContextBytes;
  CHECK(context >= 0);
  CHECK(context < int64_t{2} << 20);
  CHECK(trace.outside.empty());
  CHECK(trace.driver.size() == decode.plan.passes.size() + 2);
  CHECK(gpu.open_ranges() == 0);
  CHECK(gpu.ranges() > static_cast<int64_t>(decode.plan.passes.size()));
}

}  // namespace
}  // namespace headroom::profiler
