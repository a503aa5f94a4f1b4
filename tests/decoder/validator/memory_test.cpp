#include "decoder/validator/validator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/schedule/build_plan.h"
#include "tests/decoder/validator/validator_check.h"

namespace headroom {
namespace {

using testing::accepts;
using testing::kOneAround;
using testing::kPadOne;
using testing::refuses;
using testing::small_graph;
using testing::small_plan;
using testing::small_plan_below;
using testing::small_plan_in_place;
using testing::step_for;
using testing::to_text;

TEST_CASE("validator: peaks are added up again", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  const int64_t resident = plan.weights_bytes + plan.reserve_bytes + 2048;
  // Pass 0: the latent takes 2048. The last band of tiles, two rows high, begins with three of conv_in's four
  // bands of 1024: a padded latent tile of 4 by 10 positions, 1280, and conv_in's tile, 1024, are gone before
  // the store.
  plan.passes[0].predicted_peak_bytes = resident + 3072 + 1280 + 1024;
  // Pass 1: five bands when a band of tiles begins, since conv_in's go as the residual's come; norm 3200,
  // conv 1536.
  plan.passes[1].predicted_peak_bytes = resident + 5120 + 3200 + 1536;
  // Pass 2: the residual whole; upsampled 8 by 10 positions are 5120, conv_out's tile 6 by 8 is 1152.
  plan.passes[2].predicted_peak_bytes = resident + 4096 + 5120 + 1152;
  plan.predicted_peak_bytes = plan.limit_bytes = plan.passes[2].predicted_peak_bytes;
  accepts(plan, graph);
  for (size_t p = 0; p < 3; ++p) {
    Plan less = plan;
    less.passes[p].predicted_peak_bytes -= 1;
    less.predicted_peak_bytes -= p == 2;
    refuses(less, graph, Violation::peak_understated,
            "passes[" + std::to_string(p) + "].predicted.peak_bytes");
  }
  plan.limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "passes[2]");
  plan.limit_bytes += 1;
  plan.predicted_peak_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "predicted.peak_bytes");

  // Tiles side by side: the second finds the blocks that the first acquired, so its convolution runs beside
  // six.
  plan = small_plan(graph);
  plan.passes[1].tiles.x = {{0, 4}, {4, 8}};
  plan.passes[1].predicted_peak_bytes = resident + 6144 + 5 * 6 * 64 + 3 * 4 * 64;
  accepts(plan, graph);
  plan.passes[1].predicted_peak_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "passes[1].predicted.peak_bytes");

  plan = small_plan(graph);
  plan.limit_bytes = 25'999;
  refuses(plan, graph, Violation::peak_above_limit, "predicted.peak_bytes");

  const Graph pointwise = small_graph(1);
  plan = small_plan_in_place(pointwise);  // blocks taken over count once: 4096, norm 1536 and conv 1536
  const int64_t smaller = 4672 - (8 * 16 * 4 + 64);  // the block's kernel has one tap
  plan.passes[1].predicted_peak_bytes = resident - smaller + 4096 + 1536 + 1536;
  accepts(plan, pointwise);
  plan.passes[1].predicted_peak_bytes -= 1;
  refuses(plan, pointwise, Violation::peak_understated, "passes[1].predicted.peak_bytes");
}

TEST_CASE("validator: a block has all frames of its rows", "[unit][validator]") {
  const Graph graph = small_graph();
  const Extent clip{3, 8, 8};
  Plan plan = small_plan(graph);
  for (Pass& pass : plan.passes) pass.tiles.t = {{0, 3}};
  plan.limit_bytes = 60'000;
  plan.predicted_peak_bytes = 0;
  // The number of blocks is that of a single picture. Everything else counts three times.
  const int64_t resident = plan.weights_bytes + plan.reserve_bytes;
  const std::vector<int64_t> working{3072 + 1280 + 1024, 5120 + 3200 + 1536, 4096 + 5120 + 1152};
  for (size_t p = 0; p < 3; ++p) {
    plan.passes[p].predicted_peak_bytes = resident + 3 * (2048 + working[p]);
    plan.predicted_peak_bytes = std::max(plan.predicted_peak_bytes, plan.passes[p].predicted_peak_bytes);
  }
  CHECK(to_text(validate(plan, graph, clip)).empty());
  for (size_t p = 0; p < 2; ++p) {
    Plan less = plan;
    less.passes[p].predicted_peak_bytes -= 1;
    const std::vector<Violation> found = validate(less, graph, clip);
    REQUIRE_FALSE(found.empty());
    CHECK(found[0].place == "passes[" + std::to_string(p) + "].predicted.peak_bytes");
  }
  // Cut along the time, a band of tiles still goes through all of its frames before the next one begins:
  // blocks go as they go in one chunk.
  plan.passes[1].tiles.t = {{0, 1}, {1, 3}};
  plan.passes[1].predicted_peak_bytes = plan.predicted_peak_bytes = plan.limit_bytes;
  CHECK(to_text(validate(plan, graph, clip)).empty());
}

/// The plan is sound with this peak of one pass, and not with a byte less.
void needs(Plan plan, const Graph& graph, size_t pass, int64_t bytes) {
  plan.passes[pass].predicted_peak_bytes = bytes;
  plan.predicted_peak_bytes = 0;
  for (const Pass& p : plan.passes)
    plan.predicted_peak_bytes = std::max(plan.predicted_peak_bytes, p.predicted_peak_bytes);
  accepts(plan, graph);
  plan.passes[pass].predicted_peak_bytes -= 1;
  plan.predicted_peak_bytes = 0;
  for (const Pass& p : plan.passes)
    plan.predicted_peak_bytes = std::max(plan.predicted_peak_bytes, p.predicted_peak_bytes);
  refuses(plan, graph, Violation::peak_understated,
          "passes[" + std::to_string(pass) + "].predicted.peak_bytes");
}

TEST_CASE("validator: below the device only a window of blocks is on it", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan_below(graph);
  const int64_t resident = plan.weights_bytes + plan.reserve_bytes + 2048;
  // Pass 0 touches blocks {0, 1}, {1, 2}, {3} of 1024 bytes, the last ones of a band of tiles incomplete.
  // Each is there until the band after its last one: two as a band begins, beside the latent's tile 1600 and
  // conv_in's 1536.
  needs(plan, graph, 0, resident + 2048 + 1600 + 1536);

  // Bands of one row: a block of four fills up while four of them pass, and the fifth takes the next one
  // beside it.
  Plan rows = small_plan_below(graph, 4);
  rows.passes[0].tiles.y.clear();
  for (int64_t y = 0; y < 8; ++y) rows.passes[0].tiles.y.push_back({y, y + 1});
  needs(rows, graph, 0, resident + 2 * 2048 + 512);

  // Pass 1 reads rows [0, 4), [2, 7), [5, 8), here in blocks of a row, 512 bytes. The second band has six of
  // them: its own five and the last, which is being fetched. The residual's blocks and tiles are those of the
  // plan without.
  needs(small_plan_below(graph, 1), graph, 1, resident + 6 * 512 + 2048 + 3200 + 1536);
  // Pass 2 knows nothing of conv_in any more.
  needs(plan, graph, 2, resident + 4096 + 5120 + 1152);

  // Read by pass 2 alone, conv_in leaves no bytes in pass 1: there the residual's take all.
  Plan idle = small_plan_below(graph, 1);
  const TensorId latent = graph.input(), start = graph.find_tensor("conv_in"),
                 normal = graph.find_tensor("norm");
  idle.passes[1].steps = {
      step_for(graph, OpKind::gather, "latent", {{latent}}, {{0, 2, 2}, {0, 2, 2}}, {0, 1, 1}),
      step_for(graph, OpKind::conv, "conv_in", {{latent, 0}}, kOneAround),
      step_for(graph, OpKind::norm, "norm", {{start, 1}, {graph.find_tensor("norm.statistics")}}, kOneAround,
               kPadOne),
      step_for(graph, OpKind::conv, "conv", {{normal, 2}}),
      step_for(graph, OpKind::add, "residual", {{graph.find_tensor("conv"), 3}, {start, 1}}),
      step_for(graph, OpKind::store, "residual", {{graph.find_tensor("residual"), 4}})};
  idle.passes[2].steps.push_back(step_for(graph, OpKind::gather, "conv_in", {{start}}));
  idle.kept[0].last_pass = 2;
  idle.limit_bytes = idle.passes[2].predicted_peak_bytes = 30'000;
  // conv_in 5 by 8, norm 5 by 10, conv 3 by 8 of 64 bytes; two of the residual's blocks as the second band
  // begins. The last band has a third, but lower tiles.
  needs(idle, graph, 1, resident + 2048 + 64 * (5 * 8 + 5 * 10 + 3 * 8));
}

TEST_CASE("validator: kernels packed for Winograd count with the pass", "[unit][validator]") {
  for (const bool upsamples : {false, true}) {
    Graph graph;
    const TensorId latent = graph.add_latent(16);
    graph.set_output(upsamples ? graph.upsampled_conv("conv", latent, 3)
                               : graph.conv("conv", latent, 3, {1, 3, 3}));
    const int64_t direct = (upsamples ? 16 : 9) * 16 * 16 * 4 + 64,
                  winograd = (upsamples ? 64 : 36) * 16 * 16 * 4;
    Model model;
    model.graph = graph;
    Request request{"small", upsamples ? 16 : 8, upsamples ? 16 : 8, 1, 1, Dtype::fp32};
    for (const auto& [residency, bytes] : {std::pair{WeightResidency::resident, direct + winograd},
                                           {WeightResidency::per_pass, winograd + 64}}) {
      PassDecision decision;
      decision.tile = {1, 64, 64};
      decision.convolutions = ConvolutionAlgorithm::winograd;
      Plan plan = build_plan(model, request, {1, residency}, {decision}, {});
      plan.limit_bytes = plan.predicted_peak_bytes;
      CHECK(plan.weights_bytes == bytes);
      accepts(plan, graph);
      plan.weights_bytes -= 1;
      refuses(plan, graph, Violation::peak_understated, "weights_bytes");
      plan.weights_bytes += 1;
      Plan none = plan;  // of the pass's one kernel, though it is by winograd
      none.passes[0].convolutions.direct = operations_of(plan.passes[0]);
      none.weights_bytes = 0;
      refuses(none, graph, Violation::peak_understated, "weights_bytes");
      plan.passes[0].convolutions = ConvolutionAlgorithm{7};
      refuses(plan, graph, Violation::malformed, "passes[0].convolutions");
    }
  }
}

TEST_CASE("validator: weights, all of them or by pass", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.weights_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "weights_bytes");
  plan.request.dtype = Dtype::bf16;  // packed in fp32 all the same
  refuses(plan, graph, Violation::peak_understated, "weights_bytes");
  plan.weights_bytes += 1;
  accepts(plan, graph);

  plan = small_plan(graph);
  plan.weights = WeightResidency::per_pass;
  plan.weights_bytes = 128 + 4672;  // pass 1: norm and conv
  accepts(plan, graph);
  plan.weights_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "weights_bytes");
  plan.weights_bytes += 1;
  const int64_t fixed = plan.reserve_bytes + 2048;
  needs(plan, graph, 0, 2368 + fixed + 3072 + 1280 + 1024);
  needs(plan, graph, 1, 128 + 4672 + fixed + 5120 + 3200 + 1536);
  needs(plan, graph, 2, 4672 + fixed + 4096 + 5120 + 1152);

  // Two steps of one operation share its parameters.
  plan.passes[1].steps.push_back(plan.passes[1].steps[0]);
  accepts(plan, graph);
  plan.weights = WeightResidency{5};
  refuses(plan, graph, Violation::malformed, "weights");
}

TEST_CASE("validator: the bound and what is proven", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.optimal = true;
  accepts(plan, graph);  // no bound
  plan.bound_seconds = plan.predicted_seconds;
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 - 1e-7);
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 - 1e-5);
  refuses(plan, graph, Violation::malformed, "optimal");
  plan.optimal = false;
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 + 1e-10);
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 + 1e-8);
  refuses(plan, graph, Violation::malformed, "bound_seconds");
  for (double bound :
       {-1.0, -1e-300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    plan.bound_seconds = bound;
    refuses(plan, graph, Violation::malformed, "bound_seconds");
  }
}

TEST_CASE("validator: bytes that overflow pass the limit", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.weights_bytes = std::numeric_limits<int64_t>::max();
  plan.reserve_bytes = std::numeric_limits<int64_t>::max();
  refuses(plan, graph, Violation::peak_above_limit, "passes[0]");
}

}  // namespace
}  // namespace headroom
