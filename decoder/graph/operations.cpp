#include "decoder/graph/operations.h"

namespace headroom {
namespace {

/// In the order of OpKind.
constexpr std::array kOperations{
    OperationTraits{.kind = OpKind::conv,
                    .name = "conv",
                    .step = StepKind::conv,
                    .reads_exact_tile = true,
                    .pads = true,
                    .rounds = true},
    OperationTraits{.kind = OpKind::upsample,
                    .name = "upsample",
                    .step = StepKind::upsample,
                    .cheap = true,
                    .pads = true},
    OperationTraits{.kind = OpKind::statistics,
                    .name = "statistics",
                    .step = StepKind::statistics,
                    .barrier = BarrierInputs::all,
                    .makes_statistics = true},
    OperationTraits{.kind = OpKind::norm,
                    .name = "norm",
                    .step = StepKind::norm,
                    .barrier = BarrierInputs::all_but_first,
                    .pointwise = true,
                    .cheap = true,
                    .pads = true,
                    .has_scale_and_bias = true},
    OperationTraits{
        .kind = OpKind::add, .name = "add", .step = StepKind::add, .pointwise = true, .rounds = true},
    OperationTraits{.kind = OpKind::attention,
                    .name = "attention",
                    .step = StepKind::attention,
                    .barrier = BarrierInputs::all_but_first,
                    .reads_exact_tile = true,
                    .rounds = true},
    OperationTraits{.kind = OpKind::rms_norm,
                    .name = "rms_norm",
                    .step = StepKind::rms_norm,
                    .pointwise = true,
                    .cheap = true,
                    .pads = true,
                    .has_scale_and_bias = true},
    OperationTraits{.kind = OpKind::interpolate,
                    .name = "interpolate",
                    .step = StepKind::interpolate,
                    .cheap = true,
                    .rounds = true},
    OperationTraits{.kind = OpKind::unfold_frames,
                    .name = "unfold_frames",
                    .step = StepKind::unfold_frames,
                    .rounds = true},
    OperationTraits{
        .kind = OpKind::gate, .name = "gate", .step = StepKind::gate, .pointwise = true, .rounds = true},
    OperationTraits{.kind = OpKind::depth_to_space,
                    .name = "depth_to_space",
                    .step = StepKind::depth_to_space,
                    .cheap = true},
    OperationTraits{.kind = OpKind::key_value_sums,
                    .name = "key_value_sums",
                    .step = StepKind::key_value_sums,
                    .barrier = BarrierInputs::all,
                    .makes_statistics = true},
    OperationTraits{.kind = OpKind::linear_attention,
                    .name = "linear_attention",
                    .step = StepKind::linear_attention,
                    .barrier = BarrierInputs::last,
                    .pointwise = true,
                    .rounds = true},
    OperationTraits{.kind = OpKind::activate,
                    .name = "activate",
                    .step = StepKind::activate,
                    .pointwise = true,
                    .cheap = true,
                    .pads = true},
};

struct StepTraits {
  const char* name = "?";
  bool makes_tile = true, takes_statistics = false, rounds = true;
};

/// In the order of StepKind: the operations' steps, and four steps without an operation.
constexpr auto kSteps = [] {
  std::array<StepTraits, kStepKinds> steps{};
  for (const OperationTraits& op : kOperations)
    steps[static_cast<size_t>(op.step)] = {op.name, !op.makes_statistics, op.makes_statistics, op.rounds};
  steps[static_cast<size_t>(StepKind::gather)] = {"gather", true, false, false};
  steps[static_cast<size_t>(StepKind::store)] = {"store", false, false, false};
  steps[static_cast<size_t>(StepKind::accumulate)] = {"accumulate", false, false, false};
  steps[static_cast<size_t>(StepKind::emit)] = {"emit", false, false, false};
  return steps;
}();

constexpr bool in_order() {
  for (size_t i = 0; i < kOperations.size(); ++i) {
    if (kOperations[i].kind != static_cast<OpKind>(i)) return false;
  }
  return kOperations.size() == static_cast<size_t>(OpKind::activate) + 1;
}
static_assert(in_order());

/// A plan file may contain an invalid step kind.
StepTraits step_traits(StepKind kind) {
  const auto number = static_cast<size_t>(kind);
  return number < kSteps.size() ? kSteps[number] : StepTraits{};
}

}  // namespace

const OperationTraits& traits_of(OpKind kind) {
  return kOperations[static_cast<size_t>(kind)];
}

const char* name_of(OpKind kind) {
  return traits_of(kind).name;
}

const char* name_of(StepKind kind) {
  return step_traits(kind).name;
}

bool makes_tile(StepKind kind) {
  return step_traits(kind).makes_tile;
}

bool takes_statistics(StepKind kind) {
  return step_traits(kind).takes_statistics;
}

bool rounds(StepKind kind) {
  return step_traits(kind).rounds;
}

}  // namespace headroom
