#pragma once

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/tiles.h"
#include "tests/support/random.h"

namespace headroom::test {

/// The request of the model's direction whose latent has this extent.
inline Request request_for(const Model& model, const Extent& latent, int64_t batch = 1,
                           Dtype dtype = Dtype::fp32, DeviceKind device = DeviceKind::cpu) {
  const Extent picture = extent_of(model.graph.tensor(model.graph.picture()), latent);
  const Direction direction = model.graph.encodes() ? Direction::encode : Direction::decode;
  return {model.name, picture.x, picture.y, picture.t, batch, dtype, device, direction};
}

/// The barrier depth of each pass.
inline std::vector<int32_t> pass_depths(const Graph& graph) {
  const std::vector<int32_t> depths = barrier_depths(graph);
  std::set<int32_t> sorted;
  for (const Op& op : graph.ops()) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (is_barrier(op, i) && !graph.tensor(op.inputs[i]).statistics)
        sorted.insert(depths[index(op.inputs[i])]);
    }
  }
  for (size_t t = 0; t < graph.tensors().size(); ++t) {
    if (graph.tensors()[t].cut_point) sorted.insert(depths[t]);
  }
  sorted.insert(depths[index(graph.output())]);
  return {sorted.begin(), sorted.end()};
}

/// Probabilities and ranges for random decisions.
struct RandomStyle {
  double keep = 0.5;      ///< share of the tensors that are kept
  double late = 0.2;      ///< share of these that are kept one pass later than possible
  double in_place = 0.5;  ///< share of the residuals that overwrite their operand, if possible
  /// Share of the kept tensors with blocks of their own that go to the configuration's lower tier.
  double below = 0;
  double carries = 0.3;  ///< share of the eligible passes that carry rows
  double untiled_rows = 0.25, untiled_columns = 0.6, untiled_frames = 0.3;
  int64_t most_tiles = 40;  ///< maximum of one pass
  /// Half of the passes use this algorithm, and may run some convolutions directly. The other passes are
  /// direct.
  ConvolutionAlgorithm form = ConvolutionAlgorithm::winograd;
};

struct RandomPlan {
  std::vector<PassDecision> decisions;
  Plan plan;
};

/// Draws decisions that keep no tensor in `never`. They may keep tensors that no later pass reads.
inline std::vector<PassDecision> draw_decisions(const Model& model, const Sizes& sizes,
                                                const RandomStyle& style, const std::set<std::string>& never,
                                                Random random) {
  const Graph& graph = model.graph;
  const std::vector<BarrierTargets> targets = barrier_targets(graph);
  const std::vector<int32_t> depths = barrier_depths(graph);
  const std::vector<int32_t> at = pass_depths(graph);
  std::vector<size_t> kept_in(graph.tensors().size(), targets.size());
  for (size_t t = 1; t < graph.tensors().size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    const bool wanted = random.chance(style.keep);
    const size_t delay = random.chance(style.late) ? 1 : 0;
    if (!wanted || tensor.statistics || never.contains(tensor.name)) continue;
    const auto pass = static_cast<size_t>(std::lower_bound(at.begin(), at.end(), depths[t]) - at.begin());
    // An optional pass keeps only the tensor of its cut point.
    if (targets[pass].optional() && !tensor.cut_point) continue;
    kept_in[t] = tensor.cut_point ? pass : pass + delay;
  }
  for (const BarrierTargets& target : targets) {
    for (TensorId id : target.kept) kept_in[index(id)] = targets.size();  // the pass keeps these anyway
  }
  std::vector<bool> kept(graph.tensors().size(), false), below(graph.tensors().size(), false);
  std::vector<PassDecision> decisions;
  for (size_t pass = 0; pass < targets.size(); ++pass) {
    PassDecision decision;
    decision.at_cut_point = targets[pass].optional();
    for (size_t t = 1; t < graph.tensors().size(); ++t) {
      if (kept_in[t] == pass) decision.keeps.push_back(TensorId{static_cast<int32_t>(t)});
    }
    std::erase_if(decision.keeps,
                  [&](TensorId id) { return decision.at_cut_point && !graph.tensor(id).cut_point; });
    if (decision.at_cut_point && decision.keeps.empty()) continue;
    PassGoal goal = goal_of(targets[pass], decision, sizes);
    std::vector<TensorId> taken;
    for (TensorId id : decision.keeps) {
      const TensorId base = in_place_base(graph, kept, goal, id);
      const bool wanted = random.chance(style.in_place);
      if (base == TensorId{-1} || !wanted || below[index(base)]) continue;
      decision.in_place.push_back(id);
      taken.push_back(base);
    }
    for (TensorId id : decision.keeps) {
      const bool own =
          std::find(decision.in_place.begin(), decision.in_place.end(), id) == decision.in_place.end();
      if (style.below == 0 || !random.chance(style.below) || !own) continue;
      decision.below.push_back(id);
      below[index(id)] = true;
    }
    for (TensorId id : targets[pass].kept) {
      const Op& reader = graph.op(graph.readers(id).back());  // attention stands behind its queries
      if (style.below == 0 || !takes_keys_by_block(graph, reader) || reader.inputs[1] != id ||
          !random.chance(style.below))
        continue;
      decision.below.push_back(id);
      if (reader.inputs[2] != id) decision.below.push_back(reader.inputs[2]);
    }
    goal = goal_of(targets[pass], decision, sizes);
    const Pass lowered = lower_pass(graph, kept, goal);
    const Extent grid = extent_at(lowered.scale, sizes.latent);
    decision.tile = grid;
    if (grid.t > 1 && takes_chunks(graph, lowered) && !random.chance(style.untiled_frames))
      decision.tile.t = random.pick<int64_t>({1, 1, 2, 3});
    if (!random.chance(style.untiled_rows))
      decision.tile.y = random.pick<int64_t>({1, 2, 3, 5, 8, grid.y / 2 + 1});
    if (!random.chance(style.untiled_columns))
      decision.tile.x = random.pick<int64_t>({1, 3, 4, 7, grid.x / 2 + 1});
    const auto tiles = [&] {
      return ((grid.y + decision.tile.y - 1) / decision.tile.y) *
             ((grid.x + decision.tile.x - 1) / decision.tile.x);
    };
    decision.convolutions = random.pick<ConvolutionAlgorithm>({ConvolutionAlgorithm::direct, style.form});
    if (decision.convolutions.algorithm != ConvolutionAlgorithm::direct && !random.chance(0.5)) {
      for (const OpId op : operations_of(lowered)) {
        if (has_winograd(graph, op) && random.chance(0.5)) decision.convolutions.direct.push_back(op);
      }
    }
    if (sizes.latent.t == 1 && can_carry_rows(graph, lowered))
      decision.carries_rows = random.chance(style.carries);
    while (tiles() > style.most_tiles)
      ++(decision.tile.x < decision.tile.y ? decision.tile.x : decision.tile.y);
    for (TensorId id : goal.keeps) kept[index(id)] = true;
    for (TensorId id : taken) kept[index(id)] = false;
    for (OpId op : goal.statistics) kept[index(graph.op(op).output)] = true;
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

/// A plan from random decisions. It keeps no tensor in `never`. Tensors that no later pass reads are added to
/// `never`, and the decisions are drawn again.
inline RandomPlan random_plan(const Model& model, const Request& request, int64_t micro_batch,
                              const RandomStyle& style, const MemoryModel& memory, Random& random,
                              std::set<std::string> never = {}, PlanConfiguration configuration = {}) {
  configuration.micro_batch = micro_batch;
  Plan sized;
  sized.request = request;
  const Sizes sizes = sizes_of(model.graph, sized);
  const Random start = random;
  random.integer(0, 1);
  for (;;) {
    const std::vector<PassDecision> decisions = draw_decisions(model, sizes, style, never, start);
    try {
      return {decisions, build_plan(model, request, configuration, decisions, memory)};
    } catch (const std::logic_error& refused) {
      const std::string what = refused.what();
      const size_t end = what.find(" is kept but no later pass reads it");
      if (end == std::string::npos || !never.insert(what.substr(0, end)).second) throw;
    }
  }
}

/// Counts attentions whose keys live in a tier below the device.
inline int staged_attentions(const Plan& plan) {
  int count = 0;
  for (const Pass& pass : plan.passes) {
    for (const Step& step : pass.steps) {
      if (step.kind != OpKind::attention) continue;
      for (const KeptTensor& entry : plan.kept)
        count += entry.tensor == step.inputs[1].tensor && entry.tier != MemoryTier::device ? 1 : 0;
    }
  }
  return count;
}

}  // namespace headroom::test
