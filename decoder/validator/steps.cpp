#include <algorithm>
#include <optional>

#include "decoder/validator/view.h"

namespace headroom::validation {
namespace {

constexpr int32_t kWidestHalo = 1 << 20;

/// Kind of the operation that a step of this kind carries out. Empty for steps that only move values.
std::optional<OpKind> op_kind_of(OpKind kind) {
  if (kind == OpKind::gather || kind == OpKind::store || kind == OpKind::emit) return std::nullopt;
  return kind == OpKind::accumulate ? OpKind::add : kind;
}

bool is_known(OpKind kind) {
  return std::find(kAllKinds.begin(), kAllKinds.end(), kind) != kAllKinds.end();
}

/// True if the step computes on a tile of this operand, and so cannot read the kept tensor itself.
bool reads_tile(OpKind kind, size_t input) {
  if (kind == OpKind::store) return true;
  return input == 0 && (kind == OpKind::conv ||
                        (kind == OpKind::add || kind == OpKind::accumulate || kind == OpKind::attention));
}

/// The edges that a convolution requires of the tile it reads; unset if its kernel stays inside the picture.
/// A convolution over upsampling by phases reads at most one position outside. Replicate and reflect give it
/// the same value: the outermost two positions of the upsampled picture are equal.
std::optional<Edges> wanted_edges(const Op& convolution) {
  if (convolution.kernel.y == 1 && convolution.kernel.x == 1) return std::nullopt;
  const Edges edges = convolution.convolution.edges;
  return convolution.factor.y > 1 && edges != Edges::zeros ? Edges::replicate : edges;
}

/// Checks one step. A check that fails reports a violation and returns false, because later checks build on
/// earlier ones.
class StepCheck {
 public:
  /// `taken_over`: for each step of the pass, true if an earlier step has already added onto its tile.
  StepCheck(View& view, const StepRef& ref, std::vector<bool>& taken_over)
      : view_(view), ref_(ref), step_(view.step(ref)), taken_over_(taken_over) {}

  bool run() {
    if (!check_operation() || !check_target_kind() || !check_widths() || !check_inputs() || !check_target())
      return false;
    if (step_.kind == OpKind::add) taken_over_[static_cast<size_t>(step_.inputs[0].step)] = true;
    return true;
  }

 private:
  bool refuse(const std::string& what, Violation::Kind kind = Violation::malformed) {
    view_.findings.add(kind, view_.place(ref_), what);
    return false;
  }

  bool check_operation() {
    if (!is_known(step_.kind)) return refuse("unknown kind of step");
    if (!view_.is_tensor(step_.tensor)) return refuse("no such tensor");
    const auto wanted = op_kind_of(step_.kind);
    if (!wanted) {
      if (step_.op != OpId{-1}) return refuse("a step of this kind carries out no operation");
      if (view_.graph.tensor(step_.tensor).statistics) return refuse("statistics have no positions");
      return true;
    }
    if (!view_.is_op(step_.op) || view_.graph.op(step_.op).kind != *wanted) {
      return refuse("expected an operation of kind " + std::string(name_of(*wanted)));
    }
    if (step_.add != OpId{-1}) return check_add();
    if (view_.graph.op(step_.op).output != step_.tensor) return refuse("its operation makes another tensor");
    return true;
  }

  /// Checks a convolution that adds a residual. Nothing else may read the convolution's own result, since it
  /// is never stored.
  bool check_add() {
    if (step_.kind != OpKind::conv || !view_.on_cuda())
      return refuse("only convolutions on cuda add a residual");
    if (!view_.is_op(step_.add) || view_.graph.op(step_.add).kind != OpKind::add)
      return refuse("add: expected an operation of kind add");
    const Op& add = view_.graph.op(step_.add);
    const Op& convolution = view_.graph.op(step_.op);
    if (add.output != step_.tensor) return refuse("its add makes another tensor");
    const bool takes = add.inputs[0] == convolution.output || add.inputs[1] == convolution.output;
    if (!takes || add.inputs[0] == add.inputs[1])
      return refuse("its add does not take what its convolution makes");
    if (convolution.convolution.keeps_first_frame)
      return refuse("a convolution that keeps the first frame adds no residual");
    if (convolution.activation != Activation::none || add.activation != Activation::none)
      return refuse("no activation can stand between a convolution and its residual, or behind it");
    return true;
  }

  bool check_target_kind() {
    const bool known = step_.target == StepTarget::tile || step_.target == StepTarget::blocks ||
                       step_.target == StepTarget::in_place;
    if (!known) return refuse("target: expected tile, blocks or in_place");
    if (step_.add != OpId{-1} && step_.kind != OpKind::conv)
      return refuse("only convolutions add a residual");
    if (step_.target == StepTarget::tile) return true;
    if (step_.kind != OpKind::conv || !view_.on_cuda())
      return refuse("only convolutions on cuda write blocks themselves");
    if (step_.target == StepTarget::in_place && step_.add == OpId{-1})
      return refuse("writes in place, but adds nothing");
    return true;
  }

  bool check_widths() {
    const bool pads = step_.kind == OpKind::norm || step_.kind == OpKind::gather ||
                      step_.kind == OpKind::upsample || step_.kind == OpKind::conv ||
                      step_.kind == OpKind::rms_norm || step_.kind == OpKind::activate ||
                      step_.kind == OpKind::modulate;
    for (Axis axis : kAxes) {
      const int32_t before = at(step_.halo.before, axis);
      const int32_t after = at(step_.halo.after, axis);
      const int32_t pad = at(step_.pad, axis);
      if (std::min({before, after, pad}) < 0 || std::max({before, after, pad}) > kWidestHalo) {
        return refuse("halo and pad: expected from 0 to 1048576");
      }
      if (axis == kTime && pad > 0) return refuse("a tile has no frames outside of the clip");
      if (pad > 0 && !pads) return refuse("no step of this kind makes positions outside the picture");
      if (writes_blocks(step_) && before + after + pad > 0)
        return refuse("its halo belongs to the neighbouring tiles", Violation::computed_twice);
      if (writes_whole(step_.kind) && before + after > 0) {
        const bool counts = counts_positions(step_.kind);
        return refuse("its halo belongs to the neighbouring tiles",
                      counts ? Violation::statistics_twice : Violation::computed_twice);
      }
    }
    return check_edges();
  }

  bool check_edges() {
    const bool known =
        step_.edges == Edges::zeros || step_.edges == Edges::replicate || step_.edges == Edges::reflect;
    if (!known) return refuse("edges: expected zeros, replicate or reflect");
    if (step_.edges != Edges::zeros && step_.pad.y + step_.pad.x == 0)
      return refuse("edges: its tile ends where the picture does");
    return true;
  }

  /// Tensors that the step must read, in order. An add accepts its operands in either order.
  std::vector<TensorId> wanted_inputs() const {
    if (step_.op == OpId{-1}) return {step_.tensor};
    std::vector<TensorId> wanted = view_.graph.op(step_.op).inputs;
    if (step_.add != OpId{-1}) {
      const Op& add = view_.graph.op(step_.add);
      const bool first = add.inputs[0] == view_.graph.op(step_.op).output;
      wanted.push_back(add.inputs[first ? 1 : 0]);
    }
    const bool is_add = step_.kind == OpKind::add || step_.kind == OpKind::accumulate;
    if (is_add && step_.inputs.size() == 2 && wanted[0] != step_.inputs[0].tensor)
      std::swap(wanted[0], wanted[1]);
    return wanted;
  }

  bool check_inputs() {
    const std::vector<TensorId> wanted = wanted_inputs();
    if (step_.inputs.size() != wanted.size()) {
      return refuse("expected " + std::to_string(wanted.size()) + " operands, found " +
                    std::to_string(step_.inputs.size()));
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (step_.inputs[i].tensor != wanted[i]) {
        return refuse("operand " + std::to_string(i) + ": expected " + view_.name(wanted[i]) + ", found " +
                      view_.name(step_.inputs[i].tensor));
      }
      if (!check_operand(i)) return false;
    }
    return true;
  }

  bool check_operand(size_t i) {
    const Operand& operand = step_.inputs[i];
    const std::string which = "operand " + std::to_string(i) + ": ";
    const bool whole = reads_whole(step_, i) || (step_.kind == OpKind::accumulate && i == 1);
    const bool tile = reads_tile(step_.kind, i);
    if (operand.step != -1) {
      if (whole) return refuse(which + "expected the whole tensor, found a tile");
      return check_tile(operand, which);
    }
    if (tile) return refuse(which + "expected a tile, found the kept tensor");
    if (view_.graph.tensor(operand.tensor).statistics || operand.tensor == view_.graph.input()) return true;
    const KeptTensor* kept = view_.kept(operand.tensor);
    if (kept == nullptr) {
      return refuse(which + view_.name(operand.tensor) + " is not kept, so nothing has written it",
                    Violation::read_before_write);
    }
    if (!reads_whole(step_, i) || kept->tier == MemoryTier::device) return true;
    return check_blocks_of_keys(i, *kept, which);
  }

  /// Keys and values in a lower tier arrive block by block. Both must be in the same tier with blocks of the
  /// same height, and only this step of the pass may read them. They may be one tensor.
  bool check_blocks_of_keys(size_t i, const KeptTensor& own, const std::string& which) {
    const auto misplaced = [&](const char* why) {
      return refuse(which + "every tile reads the whole of " + view_.name(own.tensor) + ", which lives in " +
                        name_of(own.tier) + ", " + why,
                    Violation::misplaced);
    };
    if (step_.kind != OpKind::attention || step_.inputs.size() != 3)
      return misplaced("and only attention can read it block by block");
    if (view_.graph.op(step_.op).frames == AttentionFrames::interleaved)
      return misplaced("and frames are interleaved");
    const Operand& other = step_.inputs[3 - i];
    const KeptTensor* beside = view_.kept(other.tensor);
    if (beside == nullptr || beside->tier != own.tier || beside->block_rows != own.block_rows)
      return misplaced("but keys and values need the same tier and block_rows");
    const auto reads = [&](const Step& step) {
      return std::count(step.inputs.begin(), step.inputs.end(), step_.inputs[i]) > 0;
    };
    const std::vector<Step>& steps = view_.plan.passes[ref_.pass].steps;
    if (!view_.spend(static_cast<int64_t>(steps.size()))) return false;
    return std::count_if(steps.begin(), steps.end(), reads) == 1 || misplaced("for more than one step");
  }

  bool check_tile(const Operand& operand, const std::string& which) {
    if (operand.step < 0 || static_cast<size_t>(operand.step) >= ref_.step) {
      return refuse(
          which + "reads the tile of step " + std::to_string(operand.step) + ", which is not an earlier one",
          Violation::read_before_write);
    }
    const Step& maker = view_.step({ref_.pass, static_cast<size_t>(operand.step)});
    if (!is_known(maker.kind) || !computes_tile(maker) || maker.tensor != operand.tensor) {
      return refuse(which + "step " + std::to_string(operand.step) + " makes no tile of " +
                    view_.name(operand.tensor));
    }
    if (taken_over_[static_cast<size_t>(operand.step)]) {
      return refuse(which + "reads the tile of step " + std::to_string(operand.step) +
                        " after a step has added onto it",
                    Violation::read_after_release);
    }
    const bool convolved = step_.kind == OpKind::conv && &operand == &step_.inputs[0];
    const std::optional<Edges> wanted =
        convolved ? wanted_edges(view_.graph.op(step_.op)) : std::optional<Edges>{};
    if (wanted && maker.edges != *wanted) {
      return refuse(which + "expected " + name_of(*wanted) + " outside the picture, and step " +
                    std::to_string(operand.step) + " makes " + name_of(maker.edges));
    }
    return true;
  }

  /// A step that writes a kept tensor must match its entry: `in_place_of` is the tensor that the step adds
  /// onto, or -1 if it adds onto none.
  bool check_target() {
    if (step_.kind == OpKind::emit && step_.tensor != view_.graph.output()) {
      return refuse("emits another tensor than the model's output", Violation::wrong_output);
    }
    const bool in_place = writes_blocks(step_) && step_.target == StepTarget::in_place;
    if (step_.kind != OpKind::store && step_.kind != OpKind::accumulate && !writes_blocks(step_)) return true;
    const KeptTensor* target = view_.kept(step_.tensor);
    if (target == nullptr) return refuse("writes a tensor that is not kept");
    const bool adds_onto = step_.kind == OpKind::accumulate || in_place;
    const TensorId base = adds_onto ? step_.inputs[1].tensor : TensorId{-1};
    if (in_place && step_.inputs[1].step != -1) return refuse("adds onto a tile, not the kept tensor");
    if (target->in_place_of != base) {
      return refuse(base == TensorId{-1} ? "stores a tensor that takes over another's blocks"
                                         : "adds onto a tensor other than its in_place_of");
    }
    view_.writers[static_cast<size_t>(target - view_.plan.kept.data())].push_back(ref_);
    return true;
  }

  View& view_;
  const StepRef ref_;
  const Step& step_;
  std::vector<bool>& taken_over_;
};

}  // namespace

void check_steps(View& view) {
  for (size_t p = 0; p < view.plan.passes.size(); ++p) {
    const size_t count = view.plan.passes[p].steps.size();
    if (!view.spend(static_cast<int64_t>(count))) return;
    view.well_formed[p].resize(count);
    std::vector<bool> taken_over(count);
    for (size_t s = 0; s < count && !view.findings.full(); ++s) {
      view.well_formed[p][s] = StepCheck(view, {p, s}, taken_over).run();
    }
  }
}

}  // namespace headroom::validation
