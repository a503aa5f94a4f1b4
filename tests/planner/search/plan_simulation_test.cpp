#include "tests/support/plan_simulation.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "decoder/schedule/blocks.h"
#include "decoder/schedule/storage.h"
#include "planner/cost/cost_model.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/simulated_gpu.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Assumptions;
using test::Random;

/// Seconds of a pass by the planner's own cost functions.
double planned_seconds(const Model& model, const Plan& plan, size_t number, const Extent& tile,
                       const CostModel& costs) {
  const Pass& pass = plan.passes[number];
  const Sizes sizes = sizes_of(model.graph, plan);
  CostModel::Transfers transfers;
  double staging = 0;
  for (const KeptTensor& entry : plan.kept) {
    if (entry.tier == MemoryTier::device) continue;
    const auto bytes = double(sizes.items * block_count(model.graph, entry, sizes)) *
                       double(kept_block_bytes(model.graph, entry, sizes));
    const bool reads = std::any_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
      return std::find(step.inputs.begin(), step.inputs.end(), Operand{entry.tensor, -1}) !=
             step.inputs.end();
    });
    const auto attends = std::find_if(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
      return step.kind == OpKind::attention &&
             (step.inputs[1].tensor == entry.tensor || step.inputs[2].tensor == entry.tensor);
    });
    if (entry.tier != MemoryTier::device && attends != pass.steps.end()) {
      // Keys and values have equal sizes; count both at the keys. A transfer brings both at once if they are
      // one tensor.
      const auto tiles = static_cast<int64_t>(pass.tiles.y.size() * pass.tiles.x.size());
      const int64_t tensors = attends->inputs[1].tensor == attends->inputs[2].tensor ? 1 : 2;
      if (attends->inputs[1].tensor == entry.tensor)
        staging += costs.staging_seconds(attends->op, entry.tier,
                                         tensors * tiles * static_cast<int64_t>(bytes), sizes);
    } else if (entry.first_pass == static_cast<int32_t>(number)) {
      costs.add_transfer(transfers, entry.tier, true, bytes);
    } else if (reads) {
      costs.add_transfer(transfers, entry.tier, false, bytes);
    }
  }
  double weights = 0, transform = 0;
  for (const Step& step : pass.steps) {
    if (step.op == OpId{-1}) continue;
    const Op& op = model.graph.op(step.op);
    if (plan.weights == WeightResidency::per_pass)
      weights += costs.weights_seconds(
          weights_bytes(model.graph, op, ConvolutionAlgorithm::direct, sizes.storage()));
    if (runs_winograd(model.graph, pass.convolutions, step.op))
      transform +=
          costs.transform_seconds(4 * kernel_shape(model.graph, op).floats(ConvolutionAlgorithm::winograd));
  }
  const double compute = transform + costs.pass_seconds(pass, tile, sizes);
  return weights + staging + CostModel::sweep_seconds(compute, transfers, pass.tiles.y.size());
}

/// Requires that each step takes at least the solver's lower bound.
void require_bounds(const Graph& graph, const Plan& plan, size_t number, const Extent& tile,
                    const CostModel& costs) {
  const Pass& pass = plan.passes[number];
  const Sizes sizes = sizes_of(graph, plan);
  double sum = 0;
  for (const Step& step : pass.steps) {
    CAPTURE(int(step.kind), graph.tensor(step.tensor).name);
    const double seconds = costs.step_seconds(pass, step, tile, sizes) * (1 + 1e-12);
    if (step.op != OpId{-1}) REQUIRE(seconds >= costs.least_seconds(step.op, sizes));
    if (step.kind == OpKind::store) REQUIRE(seconds >= costs.least_store_seconds(step.tensor, sizes));
    sum += seconds;
  }
  REQUIRE(sum * (1 - 1e-9) <= costs.pass_seconds(pass, tile, sizes));
}

TEST_CASE("a walk through every tile and step finds the peak and the seconds that the planner counts") {
  const uint64_t hundred = GENERATE(range(uint64_t{0}, uint64_t{25}));
  for (uint64_t seed = hundred * 100; seed < (hundred + 1) * 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Model model = random.chance(0.4)
                            ? test::model_of(test::random_config(random))
                            : test::random_model(random, {.operations = random.integer(4, 40),
                                                          .barriers = random.integer(1, 8),
                                                          .edges = hundred % 2 == 0 ? 0 : 0.6});
    const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::fp16});
    const Extent latent{1, random.integer(1, 24), random.integer(1, 24)};
    Request request = test::request_for(model, latent, random.integer(1, 3), dtype);
    const bool on_cuda = hundred >= 15;
    if (on_cuda) request.device = DeviceKind::cuda;
    Assumptions assumptions = test::assumptions_for(request);
    if (on_cuda) assumptions.card = test::random_card(random);
    const CostModel costs = test::assumed_costs(model.graph, request.device, assumptions.card);
    assumptions.memory = costs.memory();
    assumptions.memory.block_bytes = random.pick<int64_t>({1, 512, 4096, 40000});
    assumptions.memory.reserve_bytes = random.integer(0, 1 << 20);
    test::RandomStyle style;
    if (on_cuda) style.form = ConvolutionAlgorithm::direct;
    style.keep = random.uniform(0, 1);
    style.below = random.pick<double>({0, 0.5, 1});
    style.in_place = random.pick<double>({0, 0.5, 1});
    const PlanConfiguration configuration{
        1, random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass}),
        on_cuda ? MemoryTier::host : random.pick<MemoryTier>({MemoryTier::host, MemoryTier::scratch})};
    const int64_t micro_batch = random.chance(0.5) ? 1 : request.batch;
    const test::RandomPlan drawn =
        test::random_plan(model, request, micro_batch, style, assumptions.memory, random, {}, configuration);
    const test::SimulatedPlan walked = simulate(model.graph, drawn.plan, assumptions);
    CHECK(walked.peak_bytes == drawn.plan.predicted_peak_bytes);
    for (size_t i = 0; i < drawn.plan.passes.size(); ++i) {
      CAPTURE(i, drawn.plan.passes[i].name);
      REQUIRE(walked.passes[i].peak_bytes == drawn.plan.passes[i].predicted_peak_bytes);
      REQUIRE(
          walked.passes[i].seconds ==
          Approx(planned_seconds(model, drawn.plan, i, cut_tile(model.graph, drawn.plan.passes[i]), costs))
              .epsilon(1e-9));
      if (on_cuda)
        require_bounds(model.graph, drawn.plan, i, cut_tile(model.graph, drawn.plan.passes[i]), costs);
    }
  }
}

}  // namespace
}  // namespace headroom::planner
