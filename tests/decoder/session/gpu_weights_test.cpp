// Weights that are loaded for each pass.
#include <catch2/catch.hpp>
#include <map>

#include "decoder/base/errors.h"
#include "decoder/session/gpu_session.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;
using gpu::Stream;
using test::MemorySink;
using test::picture_shape;

/// Counts copies to the GPU by stream. On request, rejects pinned memory or fails a call.
class WatchedGpu final : public EmulatedGpu {
 public:
  using EmulatedGpu::EmulatedGpu;
  void copy(Stream stream, void* to, const void* from, int64_t bytes) override {
    if (to >= base && to < base + reserved_bytes() && (from < base || from >= base + reserved_bytes()))
      bytes_to_gpu[stream] += bytes;
    coming_ = coming_ || stream == Stream::from_host;
    EmulatedGpu::copy(stream, to, from, bytes);
  }
  void wait(Stream stream, gpu::Event event) override {
    coming_ = coming_ && stream != Stream::compute;
    EmulatedGpu::wait(stream, event);
  }
  void run(const gpu::Call& call) override {
    if (sound_calls-- == 0) throw DeviceError("broken");
    calls_meanwhile += coming_ ? 1 : 0;
    EmulatedGpu::run(call);
  }
  std::byte* reserve(int64_t bytes) override { return base = EmulatedGpu::reserve(bytes); }
  std::shared_ptr<std::byte> pin(int64_t bytes) override {
    if (refuses) throw LimitExceeded("the host refused");
    return EmulatedGpu::pin(bytes);
  }

  std::byte* base = nullptr;
  std::map<Stream, int64_t> bytes_to_gpu;
  bool refuses = false;
  int64_t sound_calls = -1;     ///< number of calls before one fails; negative: none fails
  int64_t calls_meanwhile = 0;  ///< calls while weights were being copied

 private:
  bool coming_ = false;
};

struct PerPass {
  Model model = test::model_of(test::tiny_config({16, 32}));
  Request request;
  std::vector<Plan> plans;  ///< with pinned memory and with pageable memory
  Array latent;
  int64_t reads = 0;
  ParameterSource source = [this, values = test::random_source(3)](const Parameter& parameter,
                                                                   const Interval& elements, float* out) {
    ++reads;
    values(parameter, elements, out);
  };

  explicit PerPass(Dtype dtype = Dtype::bf16) {
    request = test::request_for(model, {1, 4, 4}, 1, dtype, DeviceKind::cuda);
    planner::PlanOptions options;
    options.limit_bytes = int64_t{1} << 29;
    options.weights = WeightResidency::per_pass;
    const planner::CostModel costs(model.graph, DeviceKind::cuda);
    plans.push_back(planner::make_plan({model, request, options, costs}).value());
    plans.push_back(plans[0]);
    plans[1].host_weights_bytes = 0;
    latent = test::latent_for(model, request, 3);
    start_libraries(2);
  }
  int64_t brought_bytes() const {
    int64_t bytes = 0;
    for (const Pass& pass : plans[0].passes)
      bytes += pass_weights_bytes(model.graph, pass, ConvolutionAlgorithm::direct, WeightResidency::per_pass,
                                  storage_of(request));
    return bytes;
  }
  std::vector<float> decode(GpuSession& session, size_t plan, RunStats* stats = nullptr) const {
    MemorySink sink(picture_shape(model, request));
    const RunStats found = session.decode(plan, latent, sink, nullptr);
    if (stats != nullptr) *stats = found;
    sink.finish();
    return sink.picture.values;
  }
};

TEST_CASE("weights from pinned memory give the same pixels, on a stream of their own, and are read once") {
  int64_t calls_meanwhile = 0;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    PerPass ready(dtype);
    CHECK(ready.plans[0].host_weights_bytes ==
          resident_weights_bytes(ready.model.graph, storage_of(ready.request)));
    WatchedGpu gpu;
    GpuSession session({ready.model, ready.source, ready.plans}, gpu);
    RunStats stats;
    const std::vector<float> pinned = ready.decode(session, 0, &stats);
    CHECK(stats.host_weights_bytes == ready.plans[0].host_weights_bytes);
    CHECK(gpu.bytes_to_gpu[Stream::from_host] == ready.brought_bytes());
    CHECK(gpu.bytes_to_gpu[Stream::compute] == std::ssize(ready.latent.values) * int64_t{sizeof(float)});
    calls_meanwhile += gpu.calls_meanwhile;
    const int64_t reads = ready.reads;
    CHECK(ready.decode(session, 0) == pinned);
    CHECK(ready.reads == reads);
    CHECK(ready.decode(session, 1, &stats) == pinned);
    CHECK(stats.host_weights_bytes == 0);
    CHECK(gpu.bytes_to_gpu[Stream::from_host] == 2 * ready.brought_bytes());
  }
  CHECK(calls_meanwhile > 0);
}

TEST_CASE("sessions may share pinned weights, which are read once for all of them") {
  PerPass ready;
  EmulatedGpu gpu;
  PinnedByDtype pinned;
  std::vector<float> first;
  int64_t reads = 0;
  for (int i = 0; i < 2; ++i) {
    GpuSession session({ready.model, ready.source, ready.plans, 0, 0, {}, &pinned}, gpu);
    const std::vector<float> pixels = ready.decode(session, 0);
    CHECK((i == 0 || pixels == first));
    CHECK((i == 0 || ready.reads == reads));
    first = pixels;
    reads = ready.reads;
  }
}

TEST_CASE("where the host pins no memory for weights, they come from pageable memory") {
  PerPass ready;
  WatchedGpu gpu;
  gpu.refuses = true;
  GpuSession session({ready.model, ready.source, ready.plans}, gpu);
  RunStats stats;
  const std::vector<float> pixels = ready.decode(session, 0, &stats);
  CHECK(stats.host_weights_bytes == 0);
  CHECK(ready.decode(session, 1) == pixels);
}

TEST_CASE("a decode that ends early leaves no weights on their way to memory of the next one") {
  PerPass ready;
  WatchedGpu gpu;
  GpuSession session({ready.model, ready.source, ready.plans}, gpu);
  const std::vector<float> pixels = ready.decode(session, 1);
  const int64_t calls = gpu.calls();
  for (int64_t sound = 0; sound < calls; sound += 1 + calls / (test::kSanitized ? 6 : 30)) {
    CAPTURE(sound);
    gpu.sound_calls = sound;
    CHECK_THROWS_WITH(ready.decode(session, 0), "broken");
    gpu.sound_calls = calls;
    // The second plan has the same layout, but copies its weights on the compute stream.
    CHECK(ready.decode(session, 1) == pixels);
  }
}

}  // namespace
}  // namespace headroom
