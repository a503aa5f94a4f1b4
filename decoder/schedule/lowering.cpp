#include "decoder/schedule/lowering.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/halo.h"
#include "decoder/schedule/tiles.h"

namespace headroom {
namespace {

class Lowering {
 public:
  Lowering(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal)
      : graph_(graph),
        kept_(kept),
        goal_(goal),
        carried_{goal.carries_rows},
        needs_(graph, kept, goal),
        made_(graph.tensors().size(), -1) {}

  Pass run() {
    set_scale();
    for (size_t i = needs_.first_op(); i < needs_.end_op(); ++i) emit_op(OpId{static_cast<int32_t>(i)});
    if (goal_.emits)
      push({.kind = OpKind::emit, .tensor = graph_.output(), .inputs = {read(graph_.output())}});
    set_time_scale();
    pass_.carries_rows = goal_.carries_rows;
    return std::move(pass_);
  }

 private:
  /// True if an operation that reads part of the tensor takes it from kept blocks.
  bool is_kept(TensorId id) const {
    return id == graph_.input() || (kept_[index(id)] && !is_kept_for_barriers_only(graph_, id));
  }

  void set_scale() {
    std::vector<TensorId> wanted = goal_.keeps;
    for (OpId op : goal_.statistics) wanted.push_back(measured_tensor(graph_.op(op)));
    if (goal_.emits) wanted.push_back(graph_.output());
    if (wanted.empty()) throw std::logic_error("a pass without a goal");
    pass_.scale = graph_.tensor(wanted.front()).scale;
    for (TensorId id : wanted) {
      pass_.scale =
          per_axis([](int32_t a, int32_t b) { return std::min(a, b); }, pass_.scale, graph_.tensor(id).scale);
    }
    pass_.name = graph_.tensor(wanted.front()).name;
  }

  /// Sets the grid's time scale to that of the coarsest tensor in the pass. Each chunk then has whole frames
  /// of every tensor.
  void set_time_scale() {
    const auto coarser = [&](TensorId id) {
      const Tensor& tensor = graph_.tensor(id);
      if (!tensor.statistics) pass_.scale.t = std::min(pass_.scale.t, tensor.scale.t);
    };
    for (const Step& step : pass_.steps) {
      coarser(step.tensor);
      for (const Operand& operand : step.inputs) coarser(operand.tensor);
    }
  }

  /// True if an operation can write the tile that all its readers need, including padding. Convolutions with
  /// different edges need different tiles, so each copies its own.
  static bool makes_exact_tile(const Op& op, const Need& need) {
    return operation(op.kind).pads && !need.loose && !need.exact.empty() &&
           std::all_of(need.exact.begin(), need.exact.end(),
                       [&](const ExactDemand& demand) { return demand == need.exact.front(); });
  }

  int32_t push(Step step) {
    pass_.steps.push_back(std::move(step));
    return static_cast<int32_t>(pass_.steps.size()) - 1;
  }

  Operand read(TensorId id) const { return {id, is_kept(id) ? -1 : made_[index(id)]}; }

  /// Returns a tile with exactly the demanded region: the existing tile or a copy.
  Operand read_exact(TensorId id, const ExactDemand& demand) {
    const int32_t step = made_[index(id)];
    if (!is_kept(id) && step >= 0) {
      const Step& made = pass_.steps[static_cast<size_t>(step)];
      if (ExactDemand{made.halo, made.pad, made.edges} == demand) return {id, step};
    }
    return {id, push({.kind = OpKind::gather,
                      .tensor = id,
                      .inputs = {read(id)},
                      .halo = demand.halo,
                      .pad = demand.pad,
                      .edges = demand.edges})};
  }

  void emit_op(OpId id) {
    const Op& op = graph_.op(id);
    const Need& need = needs_.of(op.output);
    if (graph_.tensor(op.output).statistics) {
      if (contains(goal_.statistics, id)) emit_statistics(id);
    } else if (contains(goal_.in_place, op.output)) {
      emit_accumulation(id);
    } else if (need.any() && !is_kept(op.output)) {
      emit_tile(id, need);
    }
  }

  void emit_statistics(OpId id) {
    const Op& op = graph_.op(id);
    Step step{.kind = op.kind, .op = id, .tensor = op.output};
    for (TensorId input : op.inputs) step.inputs.push_back(read_written(input));
    push(std::move(step));
  }

  void emit_accumulation(OpId id) {
    const Op& op = graph_.op(id);
    const bool second_is_base = is_kept(op.inputs[1]);
    const TensorId base = op.inputs[second_is_base ? 1 : 0];
    const TensorId other = op.inputs[second_is_base ? 0 : 1];
    if (convolution_can_add(op, other, {})) {
      Step& convolution = add_residual(id, base);
      convolution.target = StepTarget::in_place;
      return;
    }
    push({.kind = OpKind::accumulate,
          .op = id,
          .tensor = op.output,
          .inputs = {read_exact(other, {}), {base, -1}}});
  }

  // With fused steps, a convolution adds the residual to its sums before it rounds them. It writes a kept
  // tensor straight into the tensor's blocks. Both save memory traffic.
  //
  //     norm -> conv -> store -> statistics        norm -> conv into blocks -> statistics
  //     norm -> conv -> accumulate -> statistics   norm -> conv + residual, in place -> statistics

  /// True if the last step is a convolution that makes `operand` and can carry out this add as well. `halo`
  /// is the halo of the sum.
  bool convolution_can_add(const Op& add, TensorId operand, const Halo& halo) const {
    if (!goal_.fusion.residuals || add.activation != Activation::none) return false;
    const int32_t made = made_[index(operand)];
    if (made < 0 || made + 1 != static_cast<int32_t>(pass_.steps.size())) return false;
    const Step& step = pass_.steps.back();
    // The sum's tile carries rows, so the convolution makes only fresh ones.
    Halo of_operand = halo;
    if (goal_.carries_rows) of_operand.before.y = 0;
    if (step.kind != OpKind::conv || step.halo != of_operand || step.pad != Axes<int32_t>{}) return false;
    const Op& op = graph_.op(step.op);
    return op.activation == Activation::none && op.factor == Axes<int32_t>{1, 1, 1} &&
           !op.convolution.keeps_first_frame && step.add == OpId{-1} && add.inputs[0] != add.inputs[1] &&
           readers_in_pass(operand) == 1;
  }

  /// Fuses this add into the last step, a convolution.
  Step& add_residual(OpId add, TensorId residual) {
    Step& convolution = pass_.steps.back();
    made_[index(convolution.tensor)] = -1;
    convolution.inputs.push_back(read(residual));
    convolution.tensor = graph_.op(add).output;
    convolution.add = add;
    return convolution;
  }

  /// True if the last step can write the tensor's blocks instead of a tile. In this pass only statistics may
  /// read the tensor, since they can read blocks.
  bool can_write_blocks(TensorId id, const Need& need) const {
    if (!goal_.fusion.blocks || !contains(goal_.keeps, id)) return false;
    if (pass_.steps.back().kind != OpKind::conv || !need.exact.empty() || need.all(carried_) != Halo{})
      return false;
    const std::vector<OpId> readers = graph_.readers(id);
    return std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
      const TensorId made = graph_.op(reader).output;
      return graph_.tensor(made).statistics || !(needs_.of(made).any() || contains(goal_.in_place, made));
    });
  }

  /// Records the last step's result: a tile, which is also stored if the tensor is kept, or the tensor's
  /// blocks.
  void finish_tile(TensorId id, const Need& need) {
    if (can_write_blocks(id, need)) {
      pass_.steps.back().target = StepTarget::blocks;
      return;
    }
    made_[index(id)] = static_cast<int32_t>(pass_.steps.size()) - 1;
    if (contains(goal_.keeps, id)) push({.kind = OpKind::store, .tensor = id, .inputs = {read(id)}});
  }

  /// Fuses an add into the convolution that makes one of its operands. Returns false if this is not possible.
  bool emit_with_convolution(OpId id, const Need& need) {
    const Op& op = graph_.op(id);
    if (op.kind != OpKind::add) return false;
    const Halo halo = need.all(carried_);
    for (size_t k : {size_t{1}, size_t{0}}) {
      const TensorId residual = op.inputs[1 - k];
      const bool there = is_kept(residual) || made_[index(residual)] >= 0;
      if (!there || !convolution_can_add(op, op.inputs[k], halo)) continue;
      add_residual(id, residual).halo = halo;
      finish_tile(op.output, need);
      return true;
    }
    return false;
  }

  void emit_tile(OpId id, const Need& need) {
    const Op& op = graph_.op(id);
    if (emit_with_convolution(id, need)) return;
    Step step{.kind = op.kind, .op = id, .tensor = op.output, .inputs = {}, .halo = need.all(carried_)};
    if (makes_exact_tile(op, need)) {
      step.halo = need.exact.front().halo;
      step.pad = need.exact.front().pad;
      step.edges = need.exact.front().edges;
    }
    for (size_t k = 0; k < op.inputs.size(); ++k) step.inputs.push_back(input_of(op, k, step.halo));
    push(std::move(step));
    finish_tile(op.output, need);
  }

  /// Operand for input `k` of an operation whose step makes a tile with this halo.
  Operand input_of(const Op& op, size_t k, const Halo& halo) {
    if (is_barrier(op, k)) return {op.inputs[k], -1};
    if (k == 0 && operation(op.kind).reads_exact_tile)
      return read_exact(op.inputs[0], demand_of(op, halo, carried_));
    if (k == 0 && op.kind == OpKind::add) return own_tile(op, halo);
    return read(op.inputs[k]);
  }

  /// Returns a tile that the add can overwrite: its first operand's, if it is exact and has no other reader.
  /// An add that keeps earlier positions needs its own tile and copies the operand.
  Operand own_tile(const Op& op, const Halo& of_add) {
    const TensorId id = op.inputs[0];
    const int32_t step = made_[index(id)];
    const Halo halo = carried_.fresh(of_add);
    const bool has_own = halo != of_add;
    const auto can_be_taken = [&] {
      const bool sole_reader = !contains(goal_.keeps, id) && readers_in_pass(id) == 1;
      return sole_reader && pass_.steps[static_cast<size_t>(step)].halo == halo;
    };
    if (!is_kept(id) && step >= 0 && (has_own || can_be_taken())) return {id, step};
    return {id, push({.kind = OpKind::gather, .tensor = id, .inputs = {read(id)}, .halo = halo})};
  }

  int64_t readers_in_pass(TensorId id) const {
    int64_t count = 0;
    for (OpId reader : graph_.readers(id)) {
      const Op& op = graph_.op(reader);
      const bool runs = graph_.tensor(op.output).statistics
                            ? contains(goal_.statistics, reader)
                            : needs_.of(op.output).any() || contains(goal_.in_place, op.output);
      count += runs ? 1 : 0;
    }
    return count;
  }

  /// Operand of a statistics step: the tile if there is one, otherwise the blocks that this pass has written.
  Operand read_written(TensorId id) const {
    if (contains(goal_.in_place, id)) return {id, -1};
    return read(id);
  }

  const Graph& graph_;
  const std::vector<bool>& kept_;
  const PassGoal& goal_;
  const CarriedAxes carried_;
  const PassNeeds needs_;
  std::vector<int32_t> made_;  ///< step that made the tensor's tile
  Pass pass_;
};

}  // namespace

Fusion fusion_on(const Sizes& sizes) {
  const bool fuses = device_record(sizes.device).fuses_pictures && sizes.latent.t == 1;
  return {fuses, fuses && sizes.dtype != Dtype::fp32};
}

std::vector<BarrierTargets> barrier_targets(const Graph& graph) {
  const std::vector<int32_t> depths = barrier_depths(graph);
  std::map<int32_t, BarrierTargets> by_depth;
  for (size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      if (!is_barrier(op, k) || graph.tensor(op.inputs[k]).statistics) continue;
      if (graph.tensor(op.output).statistics) {
        // The pass of the deepest input has all inputs of the statistics.
        std::vector<OpId>& list = by_depth[depths[index(op.output)] - 1].statistics;
        const OpId id{static_cast<int32_t>(i)};
        if (!contains(list, id)) list.push_back(id);
        continue;
      }
      std::vector<TensorId>& kept = by_depth[depths[index(op.inputs[k])]].kept;
      if (!contains(kept, op.inputs[k])) kept.push_back(op.inputs[k]);
    }
  }
  by_depth[depths[index(graph.output())]].emits = true;
  for (size_t t = 0; t < graph.tensors().size(); ++t) {
    if (!graph.tensors()[t].cut_point) continue;
    BarrierTargets& targets = by_depth[depths[t]];
    const bool must_run = targets.emits || !targets.statistics.empty() || !targets.kept.empty();
    if (!must_run) targets.cut_points.push_back(TensorId{static_cast<int32_t>(t)});
  }
  std::vector<BarrierTargets> passes;
  passes.reserve(by_depth.size());
  for (auto& entry : by_depth) passes.push_back(std::move(entry.second));
  return passes;
}

TensorId any_target(const Graph& graph, const BarrierTargets& targets) {
  if (!targets.statistics.empty()) return graph.op(targets.statistics[0]).inputs[0];
  if (!targets.kept.empty()) return targets.kept[0];
  return targets.optional() ? targets.cut_points[0] : graph.output();
}

Pass lower_pass(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal) {
  return Lowering(graph, kept, goal).run();
}

std::optional<PassGoal> alternative_to(const Graph& graph, const PassGoal& goal, const Pass& lowered,
                                       const Sizes& sizes) {
  const bool of_one_picture = !sizes.latent_rows && sizes.latent.t == 1;
  const bool overlaps = std::any_of(lowered.steps.begin(), lowered.steps.end(), [](const Step& step) {
    return step.kind == OpKind::conv && step.halo.before.y + step.halo.after.y > 0;
  });
  if (!of_one_picture || !overlaps || !can_carry_rows(graph, lowered)) return {};
  PassGoal carrying = goal;
  carrying.carries_rows = true;
  return carrying;
}

TensorId in_place_base(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal,
                       TensorId target) {
  PassGoal without = goal;
  without.in_place.clear();
  return in_place_base(graph, kept, lower_pass(graph, kept, without), target);
}

TensorId in_place_base(const Graph& graph, const std::vector<bool>& kept, const Pass& without,
                       TensorId target) {
  const Op* add = graph.producer(target);
  if (add == nullptr || add->kind != OpKind::add) return TensorId{-1};
  const auto has_blocks = [&](TensorId id) {
    return id != graph.input() && kept[index(id)] && !is_kept_for_barriers_only(graph, id);
  };
  if (has_blocks(add->inputs[0]) == has_blocks(add->inputs[1])) return TensorId{-1};
  const TensorId base = add->inputs[has_blocks(add->inputs[0]) ? 0 : 1];
  for (const Step& step : without.steps) {
    for (const Operand& operand : step.inputs) {
      if (operand.tensor == base && step.tensor != target) return TensorId{-1};
      const bool own_use = step.kind == OpKind::store || step.kind == OpKind::statistics;
      if (operand.tensor == target && !own_use) return TensorId{-1};
    }
    if (step.tensor == target && step.halo != Halo{}) return TensorId{-1};
  }
  return base;
}

}  // namespace headroom
