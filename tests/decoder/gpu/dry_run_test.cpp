#include "decoder/gpu/dry_run.h"

#include <catch2/catch.hpp>

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

}  // namespace
}  // namespace headroom
