// Runs twice, as gpu_decodes_test.cpp does.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "decoder/validator/validator.h"
#include "planner/cost/memory_costs.h"
#include "planner/search/add_gaps.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/edged_models.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

using test::Random;
using test::request_for;

TEST_CASE("edges on a GPU: any plan gives the pixels of the untiled decode on the CPU") {
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  if (!gpu) return;
  int filled = 0, reflected = 0, wide = 0, adds = 0;
  const uint64_t seeds = test::kSanitized ? 4 : 40;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed + 300);
    const Model model = test::random_edged_model(random);
    const Extent latent{model.decodes_clips ? random.integer(1, 3) : 1, random.integer(1, 6),
                        random.integer(1, 6)};
    const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::fp32, Dtype::bf16});
    CAPTURE(seed, test::edges_of(model.graph), latent.t, latent.y, latent.x, name_of(dtype));
    Request request = request_for(model, latent, 1, dtype, DeviceKind::cuda);
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.5, 1});
    style.most_tiles = 8;
    style.form = ConvolutionAlgorithm::direct;
    MemoryModel memory = planner::cuda_memory_model(model.graph);
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    Plan plan = test::random_plan(model, request, 1, style, memory, random, test::norms_of(model.graph)).plan;
    plan.limit_bytes = int64_t{1} << 29;
    planner::add_gaps(plan, model);
    REQUIRE(validate(plan, model).empty());
    for (const Pass& pass : plan.passes) {
      for (const Step& step : pass.steps) {
        filled += step.edges != Edges::zeros ? 1 : 0;
        reflected += step.edges == Edges::reflect ? 1 : 0;
        adds += step.add != OpId{-1} ? 1 : 0;
      }
    }
    wide += dtype == Dtype::fp32 ? 1 : 0;
    const Array input = test::latent_for(model, request, seed);
    const Array found = test::on_gpu(*gpu, model, plan, input, seed).picture;
    // In 16 bits what is near is a decode on the CPU that rounds as often.
    request.device = DeviceKind::cpu;
    const Array reference =
        test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed), input).picture;
    CHECK(test::relative_error(found, reference) <= (dtype == Dtype::fp32 ? test::kExact : 0.06));
  }
  if (test::kSanitized) return;
  CHECK(filled > 50);
  CHECK(reflected > 10);
  CHECK(wide > 10);
  CHECK(adds > 0);
}

}  // namespace
}  // namespace headroom
