#include "decoder/schedule/halo.h"

#include <algorithm>
#include <stdexcept>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"

namespace headroom {
namespace {

Halo widest(const Halo& a, const Halo& b) {
  const auto larger = [](int32_t p, int32_t q) { return std::max(p, q); };
  return {per_axis(larger, a.before, b.before), per_axis(larger, a.after, b.after)};
}

/// input_halo()'s `before` along one carried axis.
int32_t carried_before(int32_t own_before, int32_t output_after, int32_t factor, int32_t stride) {
  return own_before - output_after / factor * stride;
}

}  // namespace

void CarriedAxes::add_after(Halo& halo) const {
  halo.before.t += halo.after.t;
  if (rows) halo.before.y += halo.after.y;
}

void CarriedAxes::begin_at_after(Halo& halo) const {
  halo.before.t = -halo.after.t;
  if (rows) halo.before.y = -halo.after.y;
}

Halo input_halo(const Op& op, const Halo& output, const CarriedAxes& carried) {
  const auto back = [](int32_t out, int32_t factor, int32_t stride, int32_t own) {
    return (out + factor - 1) / factor * stride + own;
  };
  const Halo own = reach(op);
  Halo halo{per_axis(back, output.before, op.factor, op.stride, own.before),
            per_axis(back, output.after, op.factor, op.stride, own.after)};
  // Along carried axes the output runs ahead: its fresh positions lie `after` positions beyond its grid tile.
  // So it also reads that much further ahead in the input.
  halo.before.t = carried_before(own.before.t, output.after.t, op.factor.t, op.stride.t);
  if (carried.rows) halo.before.y = carried_before(own.before.y, output.after.y, op.factor.y, op.stride.y);
  return halo;
}

Axes<int32_t> input_pad(const Op& op) {
  const Halo own = reach(op);
  return {0, std::max(own.before.y, own.after.y), std::max(own.before.x, own.after.x)};
}

ExactDemand demand_of(const Op& op, const Halo& output, const CarriedAxes& carried) {
  Halo halo = input_halo(op, output, carried);
  carried.add_after(halo);
  return {halo, input_pad(op), edges_read(op)};
}

Halo Need::all(const CarriedAxes& carried) const {
  std::optional<Halo> read = loose;
  for (const ExactDemand& demand : exact) {
    Halo copied = demand.halo;
    carried.begin_at_after(copied);
    read = read ? widest(*read, copied) : copied;
  }
  Halo halo = read.value_or(Halo{});
  carried.add_after(halo);
  return halo;
}

void Need::add_loose(const Halo& halo) {
  loose = loose ? widest(*loose, halo) : halo;
}

PassNeeds::PassNeeds(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal)
    : carried_{goal.carries_rows}, numbers_(graph.tensors().size(), -1) {
  needs_.reserve(16);
  add_goal(graph, goal);
  first_op_ = end_op_;
  for (OpId op : goal.statistics) first_op_ = std::min(first_op_, index(op));
  for (size_t i = end_op_; i-- > 0;) {
    const Op& op = graph.ops()[i];
    if (contains(goal.in_place, op.output)) {
      // The step adds the other operand's tile onto the kept operand. It reads both at their own positions.
      for (TensorId input : op.inputs) at(input).add_loose({});
      first_op_ = i;
      continue;
    }
    const Need& need = of(op.output);
    const bool read_kept = kept[index(op.output)] && !is_kept_for_barriers_only(graph, op.output);
    if (!need.any() || read_kept) continue;
    first_op_ = std::min(first_op_, i);
    add_inputs(op, need.all(carried_), kept);
  }
}

void PassNeeds::add_goal(const Graph& graph, const PassGoal& goal) {
  const auto runs = [&](OpId op) { end_op_ = std::max(end_op_, index(op) + 1); };
  for (OpId op : goal.statistics) {
    for (TensorId input : graph.op(op).inputs) at(input).add_loose({});
    runs(op);
  }
  for (TensorId id : goal.keeps) {
    if (!contains(goal.in_place, id)) at(id).add_loose({});
    runs(graph.tensor(id).producer);
  }
  if (goal.emits) {
    at(graph.output()).add_loose({});
    runs(graph.tensor(graph.output()).producer);
  }
}

void PassNeeds::add_inputs(const Op& op, const Halo& output, const std::vector<bool>& kept) {
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    Need& input = at(op.inputs[k]);
    if (is_barrier(op, k)) {
      if (!kept[index(op.inputs[k])])
        throw std::logic_error(op.name + " reads a tensor whole that no earlier pass has kept");
    } else if (k == 0 && operation(op.kind).reads_exact_tile) {
      input.exact.push_back(demand_of(op, output, carried_));
    } else {
      input.add_loose(input_halo(op, output, carried_));
    }
  }
}

const Need& PassNeeds::of(TensorId id) const {
  static const Need kNone;
  const int32_t number = numbers_[index(id)];
  return number < 0 ? kNone : needs_[static_cast<size_t>(number)];
}

Need& PassNeeds::at(TensorId id) {
  int32_t& number = numbers_[index(id)];
  if (number < 0) {
    number = static_cast<int32_t>(needs_.size());
    needs_.emplace_back();
  }
  return needs_[static_cast<size_t>(number)];
}

}  // namespace headroom
