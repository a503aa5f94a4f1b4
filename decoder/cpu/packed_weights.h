#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <vector>

#include "decoder/cpu/convolution.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Fills `out` with the elements [begin, end) of a parameter, counted in the order of its shape. Called on
/// several threads at once.
using ParameterSource = std::function<void(const Parameter& parameter, const Interval& elements, float* out)>;

/// Parameters of one operation; null where it has none.
struct OpWeights {
  PackedKernel kernel{};         ///< convolutions
  const float* scale = nullptr;  ///< norms: one for each channel
  const float* bias = nullptr;   ///< one for each channel
};

/// Parameters of some operations of a decoder in one allocation from the current pool, kernels packed. It is
/// as large as decoder/lowering/memory.h says; packing takes some 100 KiB per thread beside it, outside the
/// pool.
class Weights {
 public:
  /// Reads every parameter once. `progress` is told the share done, 0 to 1.
  Weights(const Graph& graph, const std::vector<OpId>& operations, ConvolutionAlgorithm form,
          const ParameterSource& source, const std::function<void(double)>& progress = {});
  /// Those kernels among `operations` that have a Winograd form, in it; all else is borrowed from `direct`.
  Weights(const Graph& graph, const std::vector<OpId>& operations, const Weights& direct);

  const OpWeights& of(OpId op) const { return ops_[index(op)]; }

 private:
  at::Tensor slab_;
  std::vector<OpWeights> ops_;
};

/// The parameters on the device as a plan wants them: all of them throughout, or those of the pass that runs.
class PlannedWeights {
 public:
  /// `resident` has all parameters; null where the plan brings them in per pass.
  PlannedWeights(const Graph& graph, const Plan& plan, const ParameterSource& source, const Weights* resident)
      : graph_(graph), plan_(plan), source_(source), resident_(resident) {}

  /// Throws LimitExceeded and what the source throws.
  void begin_pass(size_t pass);
  void end_pass() { of_pass_.reset(); }
  const OpWeights& of(OpId op) const { return of_pass_ ? of_pass_->of(op) : resident_->of(op); }

 private:
  const Graph& graph_;
  const Plan& plan_;
  const ParameterSource& source_;
  const Weights* resident_;
  std::optional<Weights> of_pass_;
};

}  // namespace headroom
