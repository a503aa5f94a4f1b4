#include "decoder/validator/validator.h"

#include <catch2/catch.hpp>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/schedule/build_plan.h"
#include "tests/decoder/validator/validator_check.h"

namespace headroom {
namespace {

using testing::accepts;
using testing::refuses;
using testing::small_graph;
using testing::small_plan;
using testing::small_plan_below;
using testing::small_plan_in_place;
using testing::step_for;

TEST_CASE("validator: memory tiers below the device", "[unit][validator]") {
  const Graph graph = small_graph();
  accepts(small_plan_below(graph), graph);
  Plan in_host = small_plan_below(graph);
  in_host.kept[0].tier = MemoryTier::host;
  in_host.host_limit_bytes = 4096;
  in_host.scratch_folder.clear();
  in_host.scratch_limit_bytes = 0;
  accepts(in_host, graph);

  Plan plan = small_plan_below(graph);
  plan.scratch_folder.clear();
  refuses(plan, graph, Violation::malformed, "kept[0] (conv_in).tier");
  plan = small_plan_below(graph);
  plan.kept[0].tier = MemoryTier{77};
  refuses(plan, graph, Violation::malformed, "kept[0] (conv_in).tier");
  plan = small_plan_below(graph);
  plan.scratch_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "scratch.limit_bytes");
  plan.scratch_limit_bytes = -1;
  refuses(plan, graph, Violation::malformed, "scratch.limit_bytes");
  plan = in_host;
  plan.host_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "host_limit_bytes");
  plan.host_limit_bytes = -1;
  refuses(plan, graph, Violation::malformed, "host_limit_bytes");

  // A block at the end of an item is as large as the others.
  plan = small_plan_below(graph);
  plan.kept[0].block_rows = 3;
  plan.scratch_limit_bytes = 9 * 8 * 8 * 4 * 2;
  plan.passes[1].predicted_peak_bytes = plan.predicted_peak_bytes = plan.limit_bytes;
  accepts(plan, graph);
  plan.scratch_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "scratch.limit_bytes");

  // Both tensors are there while the second pass reads the one and writes the other.
  plan = small_plan_below(graph);
  plan.kept[1].tier = MemoryTier::scratch;
  plan.scratch_limit_bytes = 8192;
  accepts(plan, graph);
  plan.scratch_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "scratch.limit_bytes");
  plan.kept[1].tier = MemoryTier::host;  // each tier has its own limit
  plan.host_limit_bytes = 4096;
  plan.scratch_limit_bytes = 4096;
  accepts(plan, graph);
}

TEST_CASE("validator: what must be on the device", "[unit][validator]") {
  const Graph pointwise = small_graph(1);
  for (size_t entry : {size_t{0}, size_t{1}}) {
    Plan plan = small_plan_in_place(pointwise);
    plan.scratch_folder = "/scratch";
    plan.scratch_limit_bytes = 1 << 20;
    plan.kept[entry].tier = MemoryTier::scratch;
    refuses(plan, pointwise, Violation::misplaced,
            entry == 0 ? "kept[0] (conv_in).tier" : "kept[1] (residual).tier");
  }

  Graph graph;  // every tile of queries reads all keys and values
  const TensorId latent = graph.add_latent(4);
  const TensorId query = graph.conv("query", latent, 4, {1, 1, 1});
  const TensorId key = graph.conv("key", latent, 4, {1, 1, 1});
  const TensorId value = graph.conv("value", latent, 4, {1, 1, 1});
  graph.set_output(graph.attention("attention", query, key, value));
  Plan plan = small_plan(small_graph());
  plan.kept = {{query, 2, 0, 1}, {key, 2, 0, 1}, {value, 2, 0, 1}};
  plan.passes.resize(2);
  plan.passes[0].steps = {step_for(graph, OpKind::gather, "latent", {{latent}})};
  for (const char* name : {"query", "key", "value"}) {
    const auto made = static_cast<int32_t>(plan.passes[0].steps.size());
    plan.passes[0].steps.push_back(step_for(graph, OpKind::conv, name, {{latent, 0}}));
    plan.passes[0].steps.push_back(step_for(graph, OpKind::store, name, {{graph.find_tensor(name), made}}));
  }
  plan.passes[1].steps = {step_for(graph, OpKind::gather, "query", {{query}}),
                          step_for(graph, OpKind::attention, "attention", {{query, 0}, {key}, {value}}),
                          step_for(graph, OpKind::emit, "attention", {{graph.output(), 1}})};
  plan.scratch_folder = "/scratch";
  plan.scratch_limit_bytes = 1 << 20;
  accepts(plan, graph);
  Plan ungathered = plan;
  ungathered.passes[1].steps[1].inputs[0].step = -1;
  refuses(ungathered, graph, Violation::malformed, "passes[1].steps[1] (attention)");
  plan.kept[0].tier = MemoryTier::scratch;
  accepts(plan, graph);
  for (size_t entry : {size_t{1}, size_t{2}}) {
    Plan below = plan;
    below.kept[entry].tier = MemoryTier::scratch;
    refuses(below, graph, Violation::misplaced, "passes[1].steps[1] (attention)");
  }

  // Both come block by block.
  for (size_t entry : {size_t{1}, size_t{2}}) {
    plan.kept[entry].tier = MemoryTier::scratch;
  }
  accepts(plan, graph);
  Plan apart = plan;
  apart.kept[1].block_rows = 4;
  refuses(apart, graph, Violation::misplaced, "passes[1].steps[1] (attention)");
  Plan elsewhere = plan;
  elsewhere.kept[2].tier = MemoryTier::host;
  elsewhere.host_limit_bytes = 1 << 20;
  refuses(elsewhere, graph, Violation::misplaced, "passes[1].steps[1] (attention)");
  Plan twice = plan;
  twice.passes[1].steps.insert(twice.passes[1].steps.begin(),
                               step_for(graph, OpKind::gather, "key", {{key}}));
  for (Step& step : twice.passes[1].steps) {
    for (Operand& operand : step.inputs) operand.step += operand.step >= 0 ? 1 : 0;
  }
  refuses(twice, graph, Violation::misplaced, "passes[1].steps[2] (attention)");
}

}  // namespace
}  // namespace headroom
