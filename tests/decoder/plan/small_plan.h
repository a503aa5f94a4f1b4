#pragma once

#include "decoder/plan/plan.h"

namespace headroom::testing {

/// latent -> conv_in -> (norm -> conv -> add) -> upsample -> conv_out, the block's convolution of the given
/// kernel.
inline Graph small_graph(int32_t block_kernel = 3) {
  Graph graph;
  const TensorId latent = graph.add_latent(4);
  const TensorId start = graph.conv("conv_in", latent, 8, {1, 3, 3});
  const TensorId statistics = graph.statistics("norm.statistics", start, 2, 1e-6);
  const TensorId normal = graph.norm("norm", start, statistics, Activation::silu);
  const TensorId change = graph.conv("conv", normal, 8, {1, block_kernel, block_kernel});
  const TensorId sum = graph.add("residual", change, start);
  const TensorId large = graph.upsample("upsample", sum, {1, 2, 2});
  graph.set_output(graph.conv("conv_out", large, 3, {1, 3, 3}));
  return graph;
}

constexpr Extent kSmallLatent{1, 8, 8};
constexpr Halo kOneAround{{0, 1, 1}, {0, 1, 1}};
constexpr Axes<int32_t> kPadOne{0, 1, 1};

/// Parameters of small_graph(3), outputs padded to 16, each on a boundary of 64 bytes: conv_in 2368, norm
/// 128, conv 4672, conv_out 4672.
constexpr int64_t kSmallWeightBytes = 11840;

/// A step whose operation, if any, makes `tensor`.
inline Step step_for(const Graph& graph, OpKind kind, const char* tensor, std::vector<Operand> inputs,
                     Halo halo = {}, Axes<int32_t> pad = {}) {
  const bool moves = kind == OpKind::gather || kind == OpKind::store || kind == OpKind::emit;
  const OpId op = moves ? OpId{-1} : graph.find_op(tensor);
  return {kind, op, graph.find_tensor(tensor), std::move(inputs), halo, pad};
}

/// Three passes over bands of three rows: conv_in and its statistics, the block, the output at twice the
/// size. `graph` is small_graph(3).
inline Plan small_plan(const Graph& graph) {
  const auto id = [&](const char* name) { return graph.find_tensor(name); };
  Plan plan;
  plan.request = {"small", 16, 16, 1, 2, Dtype::fp32};
  plan.limit_bytes = 28'000;
  plan.micro_batch = 2;
  plan.weights_bytes = kSmallWeightBytes;
  plan.reserve_bytes = 20;
  plan.predicted_peak_bytes = 26'000;
  plan.predicted_seconds = 0.3;
  plan.kept = {{id("conv_in"), 2, 0, 1, TensorId{-1}}, {id("residual"), 2, 1, 2, TensorId{-1}}};
  plan.passes.resize(3);

  Pass& first = plan.passes[0];
  first.name = "conv_in";
  first.tiles = {{{0, 1}}, {{0, 3}, {3, 6}, {6, 8}}, {{0, 8}}};
  first.steps = {step_for(graph, OpKind::gather, "latent", {{id("latent")}}, kOneAround, kPadOne),
                 step_for(graph, OpKind::conv, "conv_in", {{id("latent"), 0}}),
                 step_for(graph, OpKind::statistics, "norm.statistics", {{id("conv_in"), 1}}),
                 step_for(graph, OpKind::store, "conv_in", {{id("conv_in"), 1}})};

  Pass& second = plan.passes[1];
  second.name = "residual";
  second.tiles = first.tiles;
  second.steps = {
      step_for(graph, OpKind::norm, "norm", {{id("conv_in")}, {id("norm.statistics")}}, kOneAround, kPadOne),
      step_for(graph, OpKind::conv, "conv", {{id("norm"), 0}}),
      step_for(graph, OpKind::add, "residual", {{id("conv"), 1}, {id("conv_in")}}),
      step_for(graph, OpKind::store, "residual", {{id("residual"), 2}})};

  Pass& third = plan.passes[2];
  third.name = "conv_out";
  third.scale = {1, 2, 2};
  third.tiles = {{{0, 1}}, {{0, 6}, {6, 12}, {12, 16}}, {{0, 8}, {8, 16}}};
  third.steps = {step_for(graph, OpKind::upsample, "upsample", {{id("residual")}}, kOneAround, kPadOne),
                 step_for(graph, OpKind::conv, "conv_out", {{id("upsample"), 0}}),
                 step_for(graph, OpKind::emit, "conv_out", {{id("conv_out"), 1}})};
  for (Pass& pass : plan.passes) {
    pass.predicted_peak_bytes = 26'000;
    pass.predicted_seconds = 0.1;
    pass.predicted_flops = 1e6;
  }
  return plan;
}

/// small_plan() with conv_in in a scratch file, in blocks of `block_rows`.
inline Plan small_plan_below(const Graph& graph, int64_t block_rows = 2) {
  Plan plan = small_plan(graph);
  plan.kept[0].tier = MemoryTier::scratch;
  plan.kept[0].block_rows = block_rows;
  plan.scratch_folder = "/scratch";
  plan.scratch_limit_bytes = 4096;
  return plan;
}

/// small_plan() with the residual added in place. `graph` is small_graph(1): a block that reads no
/// neighbours.
inline Plan small_plan_in_place(const Graph& graph) {
  const auto id = [&](const char* name) { return graph.find_tensor(name); };
  Plan plan = small_plan(graph);
  plan.kept[1].in_place_of = id("conv_in");
  plan.passes[1].steps = {
      step_for(graph, OpKind::norm, "norm", {{id("conv_in")}, {id("norm.statistics")}}),
      step_for(graph, OpKind::conv, "conv", {{id("norm"), 0}}),
      step_for(graph, OpKind::accumulate, "residual", {{id("conv"), 1}, {id("conv_in")}})};
  return plan;
}

/// small_plan() for CUDA. Convolutions write blocks and add the residual: in place, or beside `conv_in` (of
/// small_graph(3)).
inline Plan small_plan_fused(const Graph& graph, bool in_place) {
  Plan plan = in_place ? small_plan_in_place(graph) : small_plan(graph);
  plan.request.device = DeviceKind::cuda;
  plan.request.dtype = Dtype::bf16;
  const TensorId start = graph.find_tensor("conv_in");
  std::vector<Step>& first = plan.passes[0].steps;
  first.resize(3);
  first[1].target = StepTarget::blocks;
  first[2].inputs = {{start, -1}};
  std::vector<Step>& second = plan.passes[1].steps;
  second.resize(2);
  second[1].tensor = graph.find_tensor("residual");
  second[1].add = graph.find_op("residual");
  second[1].inputs.push_back({start, -1});
  second[1].target = in_place ? StepTarget::in_place : StepTarget::blocks;
  return plan;
}

}  // namespace headroom::testing
