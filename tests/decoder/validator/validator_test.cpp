#include "decoder/validator/validator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/tiles.h"
#include "tests/decoder/validator/validator_check.h"

namespace headroom {
namespace {

using testing::accepts;
using testing::kOneAround;
using testing::kPadOne;
using testing::kSmallLatent;
using testing::refuses;
using testing::small_graph;
using testing::small_plan;
using testing::small_plan_below;
using testing::small_plan_in_place;
using testing::step_for;

TEST_CASE("validator accepts sound plans", "[unit][validator]") {
  const Graph graph = small_graph();
  accepts(small_plan(graph), graph);
  const Graph pointwise = small_graph(1);
  accepts(small_plan_in_place(pointwise), pointwise);

  // The sum onto a tile of conv_in, whatever the order in which the graph names the operands.
  Plan swapped = small_plan(graph);
  std::vector<Step>& steps = swapped.passes[1].steps;
  const TensorId start = graph.find_tensor("conv_in"), change = graph.find_tensor("conv");
  steps.insert(steps.begin() + 2, step_for(graph, OpKind::gather, "conv_in", {{start}}));
  steps[3].inputs = {{start, 2}, {change, 1}};
  steps[4].inputs[0].step = 3;
  accepts(swapped, graph);
}

TEST_CASE("validator: a kept tensor is read before its write", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  std::swap(plan.passes[1], plan.passes[2]);
  plan.kept[1].first_pass = 2;
  refuses(plan, graph, Violation::read_before_write, "passes[1].steps[0] (upsample)");

  plan = small_plan(graph);
  plan.kept.erase(plan.kept.begin());
  plan.passes[0].steps.pop_back();
  refuses(plan, graph, Violation::read_before_write, "passes[1].steps[0] (norm)");

  plan = small_plan(graph);
  plan.passes[0].steps[1].inputs[0].step = 1;  // its own tile
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[1] (conv_in)");

  plan = small_plan(graph);  // statistics are complete only when the pass is
  plan.passes[0].steps.push_back(
      step_for(graph, OpKind::norm, "norm",
               {{graph.find_tensor("conv_in"), 1}, {graph.find_tensor("norm.statistics")}}));
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[4] (norm)");
}

TEST_CASE("validator: the pass that writes a tensor reads it back at its own positions only",
          "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  const TensorId start = graph.find_tensor("conv_in");
  plan.passes[0].steps.push_back(step_for(graph, OpKind::gather, "conv_in", {{start}}));
  accepts(plan, graph);
  plan.passes[0].steps.back().halo = kOneAround;
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[4] (conv_in)");
  plan.passes[0].steps.back().halo = {};
  std::swap(plan.passes[0].steps[3], plan.passes[0].steps[4]);  // read first, then store
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[3] (conv_in)");
}

TEST_CASE("validator: an activation makes the tile that a convolution reads, zeros around it included",
          "[unit][validator]") {
  Model model;
  const TensorId latent = model.graph.add_latent(4);
  const TensorId clamped = model.graph.activate("clamp", latent, Activation::soft_clamp);
  model.graph.set_output(model.graph.conv("out", clamped, 3, {1, 3, 3}));
  const Request request{"clamped", kSmallLatent.x, kSmallLatent.y, 1, 1, Dtype::fp32};
  const Plan plan = untiled_plan(model, request);
  accepts(plan, model.graph);
  REQUIRE(plan.passes[0].steps[0].kind == OpKind::activate);
  Plan changed = plan;
  changed.passes[0].steps[0].pad.y = 0;
  refuses(changed, model.graph, Violation::missing_halo, "passes[0].steps[1] (out)");
  changed = plan;
  changed.passes[0].steps[0].kind = OpKind::rms_norm;
  refuses(changed, model.graph, Violation::malformed, "passes[0].steps[0] (clamp)");
  changed = plan;
  changed.passes[0].steps[0].inputs.clear();
  refuses(changed, model.graph, Violation::malformed, "passes[0].steps[0] (clamp)");
}

/// One convolution of the latent, or of what is upsampled, in tiles of two rows and four columns.
Plan edged_plan(Model& model, Edges edges, bool upsamples) {
  const TensorId latent = model.graph.add_latent(4);
  model.graph.set_output(upsamples ? model.graph.upsampled_conv("out", latent, 3, {.edges = edges})
                                   : model.graph.conv("out", latent, 3, {1, 5, 5}, {.edges = edges}));
  const int64_t scale = upsamples ? 2 : 1;
  Plan plan =
      untiled_plan(model, {"edged", kSmallLatent.x * scale, kSmallLatent.y * scale, 1, 1, Dtype::fp32});
  plan.passes[0].tiles.y = cut(kSmallLatent.y * scale, 2);
  plan.passes[0].tiles.x = cut(kSmallLatent.x * scale, 4);
  plan.predicted_peak_bytes = plan.passes[0].predicted_peak_bytes = int64_t{1} << 30;
  REQUIRE(plan.passes[0].steps[0].kind == OpKind::gather);
  return plan;
}

TEST_CASE("validator: a convolution reads what it wants outside the picture", "[unit][validator]") {
  const Edges edges = GENERATE(Edges::zeros, Edges::replicate, Edges::reflect);
  const bool upsamples = GENERATE(false, true);
  CAPTURE(name_of(edges), upsamples);
  Model model;
  const Plan plan = edged_plan(model, edges, upsamples);
  accepts(plan, model.graph);
  // The large picture's second position from the border has the small one's first value.
  const Edges wanted = upsamples && edges == Edges::reflect ? Edges::replicate : edges;
  CHECK(name_of(plan.passes[0].steps[0].edges) == std::string(name_of(wanted)));
  for (const Edges other : {Edges::zeros, Edges::replicate, Edges::reflect}) {
    Plan changed = plan;
    changed.passes[0].steps[0].edges = other;
    if (other != wanted) refuses(changed, model.graph, Violation::malformed, "passes[0].steps[1] (out)");
  }
  Plan changed = plan;
  changed.passes[0].steps[0].edges = Edges{7};
  refuses(changed, model.graph, Violation::malformed, "passes[0].steps[0] (latent)");
  changed = plan;
  changed.passes[0].steps[1].edges = Edges::replicate;  // a tile that ends at the border
  refuses(changed, model.graph, Violation::malformed, "passes[0].steps[1] (out)");
}

TEST_CASE("validator: a tile has what it reflects", "[unit][validator]") {
  Model model;
  const Plan plan = edged_plan(model, Edges::reflect, false);
  Plan changed = plan;
  Step& gather = changed.passes[0].steps[0];
  REQUIRE(gather.halo == Halo{{0, 2, 2}, {0, 2, 2}});
  gather.halo.before.y = gather.halo.before.x = gather.pad.y = gather.pad.x = 3;
  accepts(changed, model.graph);  // four rows in the picture: three of them are mirrored
  gather.halo.before.y = gather.pad.y = 4;
  refuses(changed, model.graph, Violation::missing_halo, "passes[0].steps[0] (latent)");
  gather.edges = Edges::zeros;
  refuses(changed, model.graph, Violation::malformed, "passes[0].steps[1] (out)");
  changed = plan;
  Step& other = changed.passes[0].steps[0];
  other.halo.after.x = other.pad.x = 6;  // the last tile begins at column 2, and column 1 would be mirrored
  refuses(changed, model.graph, Violation::missing_halo, "passes[0].steps[0] (latent)");
  // A tile of the whole picture mirrors it as often as need be.
  other.halo.before.x = other.halo.after.x = other.pad.x = 1000;
  accepts(changed, model.graph);
}

TEST_CASE("validator: a kept tensor is read after its release", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.kept[0].last_pass = 0;
  refuses(plan, graph, Violation::read_after_release, "passes[1].steps[0] (norm)");
}

TEST_CASE("validator: a tile lacks its halo", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[1].steps[0].halo.after.y = 0;
  refuses(plan, graph, Violation::missing_halo, "passes[1].steps[1] (conv)");

  plan = small_plan(graph);
  plan.passes[2].steps[0].pad.x = 0;  // no zeros left of the picture
  refuses(plan, graph, Violation::missing_halo, "passes[2].steps[1] (conv_out)");

  plan = small_plan(graph);  // more than its halo does no harm
  plan.passes[1].steps[0].halo.before.x = 2;
  plan.passes[1].steps[0].pad.x = 2;
  accepts(plan, graph);

  plan = small_plan(graph);  // a cone needs the sum of the halos
  const TensorId latent = graph.input();
  plan.passes[1].steps.insert(plan.passes[1].steps.begin(),
                              {step_for(graph, OpKind::gather, "latent", {{latent}}, kOneAround, kPadOne),
                               step_for(graph, OpKind::conv, "conv_in", {{latent, 0}})});
  plan.passes[1].steps[2].inputs[0].step = 1;
  plan.passes[1].steps[3].inputs[0].step = 2;
  plan.passes[1].steps[4].inputs[0].step = 3;
  plan.passes[1].steps[5].inputs[0].step = 4;
  refuses(plan, graph, Violation::missing_halo, "passes[1].steps[2] (norm)");
  plan.passes[1].steps[0].halo = {{0, 2, 2}, {0, 2, 2}};
  plan.passes[1].steps[1].halo = kOneAround;
  accepts(plan, graph);
}

TEST_CASE("validator: regions skipped and computed twice", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[1].tiles.y[1] = {4, 6};
  refuses(plan, graph, Violation::skipped_region, "passes[1].tiles.y");
  plan.passes[1].tiles.y[1] = {2, 6};
  refuses(plan, graph, Violation::computed_twice, "passes[1].tiles.y");
  plan.passes[1].tiles.y = {{0, 3}, {3, 6}};
  refuses(plan, graph, Violation::skipped_region, "passes[1].tiles.y");

  plan = small_plan(graph);
  plan.passes[0].steps.pop_back();
  refuses(plan, graph, Violation::skipped_region, "kept[0] (conv_in)");

  plan = small_plan(graph);
  plan.passes[1].steps.push_back(plan.passes[1].steps.back());
  refuses(plan, graph, Violation::computed_twice, "passes[1].steps[4] (residual)");

  plan = small_plan(graph);
  plan.passes[1].steps[3].halo = kOneAround;
  refuses(plan, graph, Violation::computed_twice, "passes[1].steps[3] (residual)");

  // A grid finer than the tensor, cut between two of its positions.
  plan = small_plan(graph);
  plan.passes[1].scale = {1, 2, 2};
  plan.passes[1].tiles = {{{0, 1}}, {{0, 5}, {5, 16}}, {{0, 16}}};
  refuses(plan, graph, Violation::computed_twice, "passes[1].steps[3] (residual)");
}

TEST_CASE("validator: statistics counted twice or missing", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[1].steps.push_back(
      step_for(graph, OpKind::statistics, "norm.statistics", {{graph.find_tensor("conv_in")}}));
  refuses(plan, graph, Violation::statistics_twice, "passes[1].steps[4] (norm.statistics)");

  plan = small_plan(graph);
  plan.passes[0].steps[2].halo = kOneAround;
  refuses(plan, graph, Violation::statistics_twice, "passes[0].steps[2] (norm.statistics)");

  plan = small_plan(graph);
  plan.passes[0].scale = {1, 2, 2};
  plan.passes[0].tiles = {{{0, 1}}, {{0, 5}, {5, 16}}, {{0, 16}}};
  refuses(plan, graph, Violation::statistics_twice, "passes[0].steps[2] (norm.statistics)");

  plan = small_plan(graph);
  plan.passes[0].steps.erase(plan.passes[0].steps.begin() + 2);
  refuses(plan, graph, Violation::statistics_missing, "passes[1].steps[0] (norm)");
}

TEST_CASE("validator: additions in place", "[unit][validator]") {
  const Graph graph = small_graph(1);
  Plan plan = small_plan_in_place(graph);
  plan.kept[1].block_rows = 1;
  refuses(plan, graph, Violation::malformed, "kept[1] (residual)");

  plan = small_plan_in_place(graph);  // read again after it has been added onto
  plan.passes[1].steps.push_back(
      step_for(graph, OpKind::gather, "conv_in", {{graph.find_tensor("conv_in")}}));
  refuses(plan, graph, Violation::read_after_release, "passes[1].steps[3] (conv_in)");

  plan = small_plan_in_place(graph);  // read in a neighbouring tile that may have been added onto
  plan.passes[1].steps[0].halo = kOneAround;
  plan.passes[1].steps[1].halo = kOneAround;
  refuses(plan, graph, Violation::read_after_release, "passes[1].steps[0] (norm)");

  plan = small_plan_in_place(graph);
  plan.kept[0].last_pass = 2;
  refuses(plan, graph, Violation::never_released, "kept[0] (conv_in)");
  plan.passes[2].steps.push_back(
      step_for(graph, OpKind::gather, "conv_in", {{graph.find_tensor("conv_in")}}));
  refuses(plan, graph, Violation::block_conflict, "kept[1] (residual)");
}

TEST_CASE("validator: blocks that nothing hands back", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.kept[0].last_pass = 2;
  refuses(plan, graph, Violation::never_released, "kept[0] (conv_in)");
}

TEST_CASE("validator: the output, once", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[2].steps.pop_back();
  refuses(plan, graph, Violation::wrong_output, "passes");
  plan = small_plan(graph);
  plan.passes[2].steps.push_back(plan.passes[2].steps.back());
  refuses(plan, graph, Violation::wrong_output, "passes[2].steps[3] (conv_out)");
  plan = small_plan(graph);
  plan.passes[1].steps.push_back(
      step_for(graph, OpKind::emit, "residual", {{graph.find_tensor("residual"), 2}}));
  refuses(plan, graph, Violation::wrong_output, "passes[1].steps[4] (residual)");
}

TEST_CASE("validator: malformed steps", "[unit][validator]") {
  const Graph graph = small_graph();
  struct Change {
    size_t pass, step;
    std::function<void(Step&)> make;
    std::string place;
  };
  const std::string conv = "passes[0].steps[1] (conv_in)", sum = "passes[1].steps[3] (residual)";
  const std::vector<Change> changes{
      {0, 1, [](Step& s) { s.inputs.clear(); }, conv},
      {0, 1, [](Step& s) { s.inputs.push_back(s.inputs[0]); }, conv},
      {0, 1, [](Step& s) { s.inputs[0].step = -1; }, conv},
      {0, 1, [](Step& s) { s.inputs[0].tensor = TensorId{2}; }, conv},
      {0, 1, [](Step& s) { s.op = OpId{-1}; }, conv},
      {0, 1, [](Step& s) { s.op = OpId{999}; }, conv},
      {1, 3, [](Step& s) { s.pad = kPadOne; }, sum},
      {0, 1, [](Step& s) { s.halo.before.y = -1; }, conv},
      {0, 1, [](Step& s) { s.kind = OpKind{77}; }, conv},
      {0, 1, [](Step& s) { s.tensor = TensorId{-7}; }, "passes[0].steps[1] (tensor -7)"},
      {0, 0, [](Step& s) { s.op = OpId{0}; }, "passes[0].steps[0] (latent)"},
      {1, 0, [](Step& s) { s.inputs[1].step = 0; }, "passes[1].steps[0] (norm)"},
      {1, 3, [](Step& s) { s.inputs[0].step = 1; }, sum},
      {1, 1, [&](Step& s) { s.op = graph.find_op("conv_out"); }, "passes[1].steps[1] (conv)"},
  };
  for (const Change& change : changes) {
    Plan plan = small_plan(graph);
    change.make(plan.passes[change.pass].steps[change.step]);
    refuses(plan, graph, Violation::malformed, change.place);
  }
}

TEST_CASE("validator: what works on a tile reads no kept tensor itself", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);  // an add makes its sum where its first operand's tile lies
  plan.passes[1].steps[2].inputs = {{graph.find_tensor("conv_in")}, {graph.find_tensor("conv"), 1}};
  refuses(plan, graph, Violation::malformed, "passes[1].steps[2] (residual)");

  plan = small_plan(graph);  // and that tile is gone afterwards
  Pass& pass = plan.passes[1];
  pass.steps.push_back(step_for(graph, OpKind::gather, "conv", {{graph.find_tensor("conv"), 1}}));
  refuses(plan, graph, Violation::read_after_release, "passes[1].steps[4] (conv)");
  std::rotate(pass.steps.begin() + 2, pass.steps.end() - 1, pass.steps.end());
  pass.steps[4].inputs[0].step = 3;
  accepts(plan, graph);
}

TEST_CASE("validator: malformed outlines", "[unit][validator]") {
  const Graph graph = small_graph();
  const auto refuses_plan = [&](auto change, const std::string& place) {
    Plan plan = small_plan(graph);
    change(plan);
    refuses(plan, graph, Violation::malformed, place);
  };
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  refuses_plan([](Plan& p) { p.micro_batch = 3; }, "micro_batch");
  refuses_plan([](Plan& p) { p.micro_batch = 0; }, "micro_batch");
  refuses_plan([](Plan& p) { p.limit_bytes = -1; }, "limit_bytes");
  refuses_plan([](Plan& p) { p.predicted_seconds = std::numeric_limits<double>::quiet_NaN(); },
               "predicted.seconds");
  refuses_plan([](Plan& p) { p.kept[0].tensor = TensorId{99}; }, "kept[0] (tensor 99).tensor");
  refuses_plan([](Plan& p) { p.kept[0].tensor = TensorId{0}; }, "kept[0] (latent).tensor");
  refuses_plan([](Plan& p) { p.kept[1] = p.kept[0]; }, "kept[0] (conv_in).tensor");
  refuses_plan([](Plan& p) { p.kept[0].block_rows = 0; }, "kept[0] (conv_in).block_rows");
  refuses_plan([](Plan& p) { p.kept[0].first_pass = -1; }, "kept[0] (conv_in).first_pass");
  refuses_plan([](Plan& p) { p.kept[0].last_pass = 3; }, "kept[0] (conv_in).last_pass");
  refuses_plan([](Plan& p) { p.kept[0].in_place_of = TensorId{1}; }, "kept[0] (conv_in).in_place_of");
  refuses_plan([](Plan& p) { p.passes[0].scale.y = 0; }, "passes[0].scale");
  refuses_plan([](Plan& p) { p.passes[0].tiles.y[2].end = kLargest; }, "passes[0].tiles.y");
  refuses_plan([](Plan& p) { p.passes[0].tiles.y[1] = {6, 3}; }, "passes[0].tiles.y");
  refuses_plan(
      [](Plan& p) {
        p.kept[1].first_pass = 2;
        p.kept[1].last_pass = 2;
      },
      "kept[1] (residual)");

  CHECK(validate(small_plan(graph), graph, {1, 0, 8})[0].kind == Violation::malformed);
  CHECK(validate(small_plan(graph), graph, {kLargest, kLargest, kLargest})[0].kind == Violation::malformed);
  // Checks remember something of each block.
  Plan blocks = small_plan(graph);
  blocks.kept[0].block_rows = 1;
  const std::vector<Violation> found = validate(blocks, graph, {1, 3'000'000, 8});
  CHECK(found[0].place == "kept[0] (conv_in).block_rows");
  CHECK_THAT(found[0].what, Catch::Contains("expected at most 4,000,000 blocks"));
  CHECK(validate(Plan{}, Graph{}, kSmallLatent)[0].kind == Violation::malformed);
}

TEST_CASE("validator: random damage is refused or harmless, never a crash", "[unit][validator]") {
  const uint32_t seed = 20260;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](auto& list) -> auto& {
    return list[random() % list.size()];
  };
  const Graph graph = small_graph();
  std::vector<int64_t> values{0, 1, -1, 2, 3, 7, 1 << 20, INT32_MAX, INT32_MIN};
  for (int round = 0; round < 20'000; ++round) {
    Plan plan = random() % 2 == 0 ? small_plan(graph) : small_plan_below(graph);
    for (int change = 0; change < 3; ++change) {
      const auto value = static_cast<int32_t>(pick(values));
      Pass& pass = pick(plan.passes);
      Step& step = pick(pass.steps);
      Step& other = pick(pass.steps);
      KeptTensor& kept = pick(plan.kept);
      std::vector<std::function<void()>> changes{
          [&] { step.kind = OpKind{value}; },
          [&] { step.op = OpId{value}; },
          [&] { step.tensor = TensorId{value}; },
          [&] { step.halo.before.y = value; },
          [&] { step.pad.x = value; },
          [&] {
            if (!step.inputs.empty()) step.inputs[0].step = value;
          },
          [&] {
            if (!step.inputs.empty()) step.inputs[0].tensor = TensorId{value};
          },
          [&] { kept.block_rows = value; },
          [&] { kept.last_pass = value; },
          [&] { kept.in_place_of = TensorId{value}; },
          [&] { kept.tier = MemoryTier{value}; },
          [&] { pass.scale.y = value; },
          [&] { pick(pass.tiles.y).end = value; },
          [&] { pick(pass.tiles.t).end = value; },
          [&] { std::swap(step, other); },
          [&] { plan.micro_batch = value; },
          [&] { plan.weights = WeightResidency{value}; },
          [&] { plan.scratch_limit_bytes = value; },
      };
      pick(changes)();
    }
    REQUIRE(validate(plan, graph, kSmallLatent).size() <= 20);
  }
}

TEST_CASE("validator: require_valid names file, place and reason", "[unit][validator]") {
  Model model;
  model.graph = small_graph();
  Plan plan = small_plan(model.graph);
  CHECK_NOTHROW(require_valid(plan, model, "plan.json"));
  plan.passes[1].steps[0].halo.after.y = 0;
  CHECK_THROWS_WITH(require_valid(plan, model, "plan.json"),
                    Catch::StartsWith("plan.json: passes[1].steps[1] (conv): tile without its halo: needs"));
  plan.request.width_pixels = 17;
  CHECK_THROWS_AS(require_valid(plan, model, "plan.json"), InputError);
}

}  // namespace
}  // namespace headroom
