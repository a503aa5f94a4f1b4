// Weights that come in per pass.
#include <catch2/catch.hpp>
#include <map>

#include "decoder/gpu/weights_ahead.h"
#include "decoder/graph/errors.h"
#include "decoder/session/gpu_session.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/memory_costs.h"
#include "planner/search/add_gaps.h"
#include "planner/search/make_plan.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;
using gpu::Stream;
using test::MemorySink;
using test::picture_shape;

/// Counts copies to the GPU by stream. Refuses pinned memory that is to stay, or breaks, when it is told to.
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
  int64_t sound_calls = -1;     ///< until one breaks
  int64_t calls_meanwhile = 0;  ///< while weights were on their way

 private:
  bool coming_ = false;
};

struct PerPass {
  Model model = test::model_of(test::tiny_config({16, 32}));
  Request request;
  std::vector<Plan> plans;  ///< from pinned memory, from pageable memory
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
  for (int64_t sound = 0; sound < calls; sound += 1 + calls / 30) {
    CAPTURE(sound);
    gpu.sound_calls = sound;
    CHECK_THROWS_WITH(ready.decode(session, 0), "broken");
    gpu.sound_calls = calls;
    // This plan has the same places, and its weights come on the compute stream.
    CHECK(ready.decode(session, 1) == pixels);
  }
}

/// Whether something lies in the place of a pass's weights between their event and the pass.
bool taken(const DryRun& dry_run, size_t pass, const WeightsAhead& ahead) {
  const auto& events = dry_run.requests.events();
  const MemoryRequests::Event& weights = events[dry_run.passes[pass]];
  std::map<int64_t, std::pair<int64_t, int64_t>> live;  // by number: offset and bytes
  const auto meets = [&](int64_t offset, int64_t bytes) {
    return offset < ahead.offset + weights.bytes && ahead.offset < offset + bytes;
  };
  auto move = dry_run.placement.moves.begin();
  bool found = false;
  for (size_t i = 0; i <= dry_run.passes[pass]; ++i) {
    for (; move != dry_run.placement.moves.end() && move->event == i; ++move) {
      live[move->number].first = move->to;
      found = found || (i > ahead.event && meets(move->to, move->bytes));
    }
    if (i >= ahead.event) {
      for (const auto& [number, place] : live) found = found || meets(place.first, place.second);
    }
    if (events[i].bytes > 0)
      live[events[i].number] = {dry_run.placement.offsets[static_cast<size_t>(events[i].number)],
                                events[i].bytes};
    else
      live.erase(events[i].number);
  }
  return found;
}

TEST_CASE("weights come ahead as soon as their place is free, and no sooner") {
  int64_t early = 0, late = 0, moves = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Model model = test::model_of(test::random_config(random));
    const Request request = test::request_for(model, {1, random.integer(2, 8), random.integer(2, 8)}, 1,
                                              Dtype::fp32, DeviceKind::cuda);
    test::RandomStyle style;
    style.keep = 0.8;
    style.form = ConvolutionAlgorithm::direct;
    const MemoryModel memory = planner::cuda_memory_model(model.graph);
    Plan plan = test::random_plan(model, request, 1, style, memory, random, test::norms_of(model.graph),
                                  {1, WeightResidency::per_pass})
                    .plan;
    plan.limit_bytes = random.chance(0.7) ? plan.predicted_peak_bytes : int64_t{1} << 29;
    planner::add_gaps(plan, model);
    const DryRun dry_run = run_dry(model, plan);
    moves += std::ssize(dry_run.placement.moves);
    const std::vector<WeightsAhead> ahead = weights_ahead(dry_run);
    REQUIRE(ahead.size() == dry_run.passes.size());
    for (size_t pass = 1; pass < ahead.size(); ++pass) {
      CAPTURE(pass);
      const WeightsAhead& own = ahead[pass];
      const size_t begin = dry_run.passes[pass];
      REQUIRE(own.event > dry_run.passes[pass - 1]);
      REQUIRE(own.event <= begin);
      CHECK_FALSE((own.event < begin && taken(dry_run, pass, own)));
      const bool first = own.event == dry_run.passes[pass - 1] + 1;
      CHECK((first || taken(dry_run, pass, {own.event - 1, own.offset})));
      ++(own.event < begin ? early : late);
    }
  }
  CHECK(early > 0);
  CHECK(late > 0);
  CHECK(moves > 0);
}

}  // namespace
}  // namespace headroom
