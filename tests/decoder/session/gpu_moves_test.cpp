// Decodes on an emulated GPU whose blocks are moved between passes.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "decoder/gpu/dry_run.h"
#include "decoder/session/gpu_session.h"
#include "decoder/session/libraries.h"
#include "decoder/session/session.h"
#include "decoder/session/trace_recorder.h"
#include "planner/cost/memory_costs.h"
#include "planner/search/add_gaps.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_pictures.h"

namespace headroom {
namespace {

using test::Random;

/// A decode that was drawn, by a plan that has room for its gaps and by one that has just what it needs.
struct Drawn {
  Model model;
  Plan ample, tight;
  Array latent;
  uint64_t seed = 0;
};

Drawn draw(uint64_t seed) {
  Random random(seed);
  Drawn drawn{test::model_of(test::random_config(random)), {}, {}, {}, seed};
  const bool with_rest = seed % 3 == 0;
  const int64_t batch = with_rest ? 3 : random.integer(1, 3);
  const int64_t micro_batch = with_rest ? 2 : random.integer(1, batch);
  const Request request =
      test::request_for(drawn.model, {1, random.integer(4, 10), random.integer(2, 8)}, batch,
                        random.pick<Dtype>({Dtype::fp32, Dtype::bf16}), DeviceKind::cuda);
  test::RandomStyle style;
  style.keep = 0.8;
  style.untiled_rows = 0;
  style.above = random.pick<double>({0, 0.4});
  style.most_tiles = 8;
  style.form = ConvolutionAlgorithm::direct;
  MemoryModel memory = planner::cuda_memory_model(drawn.model.graph);
  memory.block_bytes = random.pick<int64_t>({700, 20'000});
  drawn.ample =
      test::random_plan(
          drawn.model, request, micro_batch, style, memory, random, {},
          {.weights = random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass})})
          .plan;
  drawn.tight = drawn.ample;
  drawn.ample.limit_bytes = int64_t{1} << 29;
  drawn.tight.limit_bytes = drawn.tight.predicted_peak_bytes;
  planner::add_gaps(drawn.ample, drawn.model);
  planner::add_gaps(drawn.tight, drawn.model);
  drawn.latent = test::latent_for(drawn.model, request, seed);
  return drawn;
}

struct Traced {
  Array picture;
  RunStats stats;
  Trace trace;
};

Traced traced(const Drawn& drawn, const Plan& plan) {
  gpu::EmulatedGpu gpu(int64_t{1} << 29);
  test::MemorySink sink(test::picture_shape(drawn.model, plan.request));
  TraceRecorder recorder;
  Traced done;
  done.stats =
      decode(drawn.model, plan, test::random_source(drawn.seed), drawn.latent, sink, {&recorder, {}, &gpu});
  sink.finish();
  done.picture = std::move(sink.picture);
  done.trace = recorder.finish();
  return done;
}

/// Places of one moment do not overlap.
void check_places(const Trace& trace) {
  for (size_t i = 0; i < trace.places.size(); ++i) {
    const TracePlace& a = trace.places[i];
    for (size_t j = 0; j < i; ++j) {
      const TracePlace& b = trace.places[j];
      const bool apart = b.end_seconds <= a.begin_seconds || a.end_seconds <= b.begin_seconds ||
                         b.offset + b.bytes <= a.offset || a.offset + a.bytes <= b.offset;
      REQUIRE(apart);
    }
  }
}

TEST_CASE("what is moved between passes is what it was: the picture has the same bits") {
  start_libraries(2);
  int with_moves = 0, in_micro_batches = 0, of_a_rest = 0;
  for (uint64_t seed = 0; seed < (test::kSanitized ? 3 : 30); ++seed) {
    CAPTURE(seed);
    const Drawn drawn = draw(seed);
    const DryRun dry_run = run_dry(drawn.model, drawn.tight);
    if (dry_run.placement.moves.empty()) continue;
    ++with_moves;
    const Request& request = drawn.tight.request;
    in_micro_batches += drawn.tight.micro_batch < request.batch ? 1 : 0;
    of_a_rest += request.batch % drawn.tight.micro_batch > 0 ? 1 : 0;
    const Traced ample = traced(drawn, drawn.ample), tight = traced(drawn, drawn.tight);
    CHECK(tight.picture.values == ample.picture.values);
    CHECK(tight.stats.pool_peak_bytes <= ample.stats.pool_peak_bytes);
    CHECK(tight.stats.pool_peak_bytes <= drawn.tight.predicted_peak_bytes);
    // No byte came or went.
    CHECK(tight.trace.events.size() == ample.trace.events.size());
    check_places(tight.trace);
  }
  if (test::kSanitized) return;  // a few of them need not have all there is
  CHECK(with_moves >= 8);
  CHECK(in_micro_batches > 0);
  CHECK(of_a_rest > 0);
}

}  // namespace
}  // namespace headroom
