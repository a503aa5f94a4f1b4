#include "decoder/session/gpu_session.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/session/gpu_streams.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/exact_costs.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/streamed.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;
using test::on_gpu;
using test::request_for;

TEST_CASE("plans for a GPU run in one reservation within their limit") {
  const Model model = test::model_of(test::tiny_config({16, 32}));
  const Request request = request_for(model, {1, 12, 12}, 1, Dtype::fp32, DeviceKind::cuda);
  const planner::CostModel costs = test::exact_costs(model.graph);
  planner::PlanOptions options;
  options.limit_bytes = int64_t{1} << 29;
  const Plan ample = planner::make_plan({model, request, options, costs}).value();
  const Array input = test::latent_for(model, request, 5);
  for (const double share : {1.0, 0.8, 0.65}) {
    CAPTURE(share);
    options.limit_bytes = static_cast<int64_t>(double(ample.predicted_peak_bytes) * share);
    const std::optional<Plan> plan = planner::make_plan({model, request, options, costs});
    if (!plan) continue;
    EmulatedGpu gpu(options.limit_bytes);
    const test::Decoded decoded = on_gpu(gpu, model, *plan, input, 5);
    CHECK(gpu.reservations() == 1);
    CHECK(gpu.most_reserved_bytes() == plan->predicted_peak_bytes);
    CHECK(decoded.stats.peak_bytes == plan->predicted_peak_bytes);
  }
}

/// A GPU with the reservation sizes of LibTorch's allocator.
class GpuOfPages final : public EmulatedGpu {
 public:
  using EmulatedGpu::EmulatedGpu;
  ReservationSizes reservation_sizes() const override { return kLibtorchReservation; }
};

TEST_CASE("a GPU takes what was predicted where its allocator has whole pages, and no more than the limit") {
  const Model model = test::model_of(test::tiny_config({16, 32}));
  const Request request = request_for(model, {1, 40, 32}, 1, Dtype::fp32, DeviceKind::cuda);
  const planner::CostModel costs(model.graph, DeviceKind::cuda);
  const Array input = test::latent_for(model, request, 5);
  Plan plan;
  for (const int64_t limit : {int64_t{10} << 20, (int64_t{13} << 20) + 1, int64_t{64} << 20}) {
    CAPTURE(limit);
    plan = planner::make_plan({model, request, {.limit_bytes = limit}, costs}).value();
    GpuOfPages gpu(limit);
    CHECK(on_gpu(gpu, model, plan, input, 5).stats.peak_bytes == plan.predicted_peak_bytes);
    CHECK(gpu.most_reserved_bytes() == plan.predicted_peak_bytes);
  }
  // The plan assumes an allocator of any size. Its limit is below the smallest reservation here.
  const planner::CostModel exact = test::exact_costs(model.graph);
  plan = planner::make_plan({model, request, {.limit_bytes = int64_t{39} << 18}, exact}).value();
  GpuOfPages gpu(int64_t{64} << 20);
  CHECK_THROWS_WITH(on_gpu(gpu, model, plan, input, 5),
                    Catch::Contains("the plan takes 10485760 bytes of the GPU's memory, limit 10223616"));
  CHECK(gpu.reservations() == 0);
}

/// A decode that needs little memory.
struct Small {
  Model model = test::model_of(test::tiny_config());
  Request request = request_for(model, {1, 4, 4}, 1, Dtype::fp32, DeviceKind::cuda);
  Plan plan =
      planner::make_plan({model, request, {.limit_bytes = int64_t{1} << 29}, test::exact_costs(model.graph)})
          .value();
  Array latent = test::latent_for(model, request, 1);

  test::Decoded decode_on(gpu::Gpu& gpu) const { return on_gpu(gpu, model, plan, latent, 1); }
};

/// Reports engine runs, like CUDA's libraries. Restarting the count drops earlier runs.
class GpuOfEngines final : public EmulatedGpu {
 public:
  using EmulatedGpu::EmulatedGpu;
  void restart_scopes() override { counted_ = true; }
  std::vector<gpu::EngineRuns> engine_runs() const override {
    return {{"cuDNN 41", false, counted_ ? 3 : 1000}, {"own kernels", false, 1}};
  }

 private:
  bool counted_ = false;
};

TEST_CASE("statistics have the engines that a GPU tells of") {
  const Small small;
  GpuOfEngines telling;
  const std::vector<EngineStats> expected{{"cuDNN 41", false, 3}, {"own kernels", false, 1}};
  CHECK(small.decode_on(telling).stats.engines == expected);
  EmulatedGpu silent;
  CHECK(small.decode_on(silent).stats.engines.empty());
}

/// Notes which engines a decode prefers.
class PreferringGpu final : public EmulatedGpu {
 public:
  void prefer_engines(const std::vector<EngineChoice>& choices) override { preferred.push_back(choices); }
  std::vector<std::vector<EngineChoice>> preferred;
};

TEST_CASE("a decode prefers the engines of its plan, and none of an earlier plan") {
  Small small;
  PreferringGpu gpu;
  small.plan.engines = {{"a convolution", "fast", 1, "first", 2}};
  small.decode_on(gpu);
  CHECK(gpu.preferred.back() == small.plan.engines);
  small.plan.engines.clear();
  small.decode_on(gpu);
  CHECK(gpu.preferred.back().empty());
  CHECK(gpu.preferred.size() == 2);
}

TEST_CASE("in 16 bits the shift of a picture is not rounded") {
  Model model;
  model.class_name = "none";
  model.latent_channels = 4;
  model.graph.set_output(
      model.graph.conv("out", model.graph.add_latent(4), 3, {1, 1, 1}, {.scale = 2, .shift = -1}));
  const ParameterSource small = [](const Parameter& parameter, const Interval& elements, float* out) {
    std::fill_n(out, elements.length(), parameter.shape.size() == 1 ? 0x1p-13F : 0);
  };
  const Dtype dtype = GENERATE(Dtype::bf16, Dtype::fp16);
  const Request request = request_for(model, {1, 4, 4}, 1, dtype, DeviceKind::cuda);
  const planner::CostModel costs = test::exact_costs(model.graph);
  const Plan plan = planner::make_plan({model, request, {.limit_bytes = int64_t{1} << 29}, costs}).value();
  EmulatedGpu gpu;
  test::MemorySink sink(test::picture_shape(model, request));
  decode(model, plan, small, test::latent_for(model, request, 1), sink, {nullptr, {}, &gpu});
  sink.finish();
  for (const float value : sink.picture.values) CHECK(value == 0x1p-12F - 1);
}

TEST_CASE("what a GPU cannot do is refused before anything is taken") {
  Small small;
  SECTION("a card with less memory than the plan takes") {
    EmulatedGpu gpu(1 << 16);
    CHECK_THROWS_AS(small.decode_on(gpu), OutOfGpuMemory);
    CHECK(gpu.reserved_bytes() == 0);
  }
  SECTION("a limit that the plan does not keep") {
    small.plan.limit_bytes = 1 << 16;
    EmulatedGpu gpu;
    CHECK_THROWS_WITH(small.decode_on(gpu), Catch::Contains("bytes of the GPU's memory, limit 65536"));
    CHECK(gpu.reservations() == 0);
  }
  SECTION("a latent that is not finite") {
    small.latent.values[3] = std::nanf("");
    EmulatedGpu gpu;
    CHECK_THROWS_WITH(small.decode_on(gpu), Catch::Contains("is not finite"));
    CHECK(gpu.reserved_bytes() == 0);
  }
}

/// A GPU whose calls can fail: one call, or all calls from that one on.
class FailingGpu final : public EmulatedGpu {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  void fail_after(int64_t calls, bool once) {
    left_ = calls;
    once_ = once;
  }
  std::byte* reserve(int64_t bytes) override { return (count(), EmulatedGpu::reserve(bytes)); }
  std::byte* reserve_host(int64_t bytes) override { return (count(), EmulatedGpu::reserve_host(bytes)); }
  void copy(gpu::Stream stream, void* to, const void* from, int64_t bytes) override {
    count();
    EmulatedGpu::copy(stream, to, from, bytes);
  }
  void clear(void* memory, int64_t bytes) override {
    count();
    EmulatedGpu::clear(memory, bytes);
  }

 private:
  void count() {
    if (left_-- > 0) return;
    left_ = once_ ? kNever : 0;
    throw DeviceError("the GPU fails");
  }
  int64_t left_ = kNever;
  bool once_ = true;
};

TEST_CASE("a GPU without room for one more stream keeps the open ones") {
  start_libraries(2);
  const auto model = std::make_shared<const Model>(test::model_of(test::tiny_wan_config()));
  const Request request = request_for(*model, {6, 3, 4}, 1, Dtype::fp32, DeviceKind::cuda);
  const Array input = test::latent_for(*model, request, 3);
  const Plan plan = test::unlimited(untiled_plan(*model, request));
  const StreamPlan planned{plan, 2, StreamLayouts(*model, plan, 2).memory({})};
  const auto gpu = std::make_shared<EmulatedGpu>(planned.memory.peak_bytes);
  const auto streams = std::make_shared<GpuStreams>(model, gpu, Dtype::fp32, test::random_source(3));
  std::unique_ptr<OpenStream> stream = streams->open(planned);
  const auto between = [&](const auto&) { CHECK_THROWS_AS(streams->open(planned), OutOfGpuMemory); };
  const test::Streamed found = test::streamed(
      stream, *model, request, input,
      [&](int64_t taken) { return std::min<int64_t>(2, input.shape[2] - taken); }, between);
  EmulatedGpu larger;
  CHECK(found.clip.values == on_gpu(larger, *model, plan, input, 3).picture.values);
  CHECK(gpu->most_reserved_bytes() == planned.memory.peak_bytes);
}

/// A stream in the middle of its clip.
struct BegunStream {
  std::unique_ptr<OpenStream> stream;
  std::unique_ptr<test::MemorySink> clip;
  int64_t taken = 0, made = 0, peak_bytes = 0;
  std::vector<std::byte> state;
};

TEST_CASE("a GPU that fails while one more stream opens leaves the open ones as they were, or ended") {
  start_libraries(2);
  const auto model = std::make_shared<const Model>(test::model_of(test::tiny_wan_config()));
  const Request request = request_for(*model, {6, 3, 4}, 1, Dtype::fp32, DeviceKind::cuda);
  const Array input = test::latent_for(*model, request, 3);
  const Plan plan = test::unlimited(untiled_plan(*model, request));
  const StreamPlan planned{plan, 2, StreamLayouts(*model, plan, 2).memory({})};
  const auto gpu = std::make_shared<FailingGpu>();
  const auto streams = std::make_shared<GpuStreams>(model, gpu, Dtype::fp32, test::random_source(3));
  std::vector<BegunStream> begun(2);
  for (BegunStream& each : begun) {
    each.stream = streams->open(planned);
    each.clip = std::make_unique<test::MemorySink>(test::picture_shape(*model, request));
    each.taken = &each == begun.data() ? 2 : 3;
    each.made = test::push(*each.stream, input, {0, each.taken}, *each.clip, 0);
    each.state = each.stream->state();
    each.peak_bytes = each.stream->measured_peak_bytes();
  }
  const bool once = GENERATE(true, false);
  bool opened = false;
  int64_t ended = 0;
  // Both values of `once` together try every call.
  for (int64_t calls = once ? 0 : 1; !opened; calls += test::kSanitized ? 7 : 2) {
    CAPTURE(calls, once);
    gpu->fail_after(calls, once);
    try {
      streams->open(planned);
      opened = true;
    } catch (const DeviceError&) {
    }
    gpu->fail_after(FailingGpu::kNever, once);
    for (BegunStream& each : begun) {
      if (each.stream->ended()) {
        ++ended;
        CHECK_THROWS_WITH(test::push_nowhere(*each.stream, test::frames_of(input, {0, 1})),
                          Catch::Contains("has ended"));
        CHECK_THROWS_WITH(each.stream->state(), Catch::Contains("has ended"));
        CHECK(each.stream->state_bytes() == 0);
        each.stream.reset();
        each.stream = streams->open(planned, each.state);
      }
      REQUIRE((each.stream->state() == each.state));
      if (once) CHECK(each.stream->measured_peak_bytes() == each.peak_bytes);
    }
  }
  CHECK((ended > 0) == !once);
  EmulatedGpu larger;
  const Array whole = on_gpu(larger, *model, plan, input, 3).picture;
  for (BegunStream& each : begun) {
    while (!each.stream->ended()) {
      const int64_t end = std::min(each.taken + 2, input.shape[2]);
      each.made += test::push(*each.stream, input, {each.taken, end}, *each.clip, each.made);
      each.taken = end;
    }
    CHECK(each.clip->picture.values == whole.values);
  }
}

}  // namespace
}  // namespace headroom
