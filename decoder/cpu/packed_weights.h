#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "decoder/cpu/convolution.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Parameters of one operation; null where it has none.
struct OpWeights {
  PackedKernel kernel{};         ///< convolutions, with their bias
  const float* scale = nullptr;  ///< norms: one for each channel
  const float* bias = nullptr;   ///< norms: one for each channel
};

/// Parameters of some operations in one pool allocation, with packed kernels. decoder/schedule/memory.h
/// counts its size. Packing takes another 100 KiB or so per thread, outside the pool.
class Weights {
 public:
  /// Reads every parameter once. `progress` receives the share done, 0 to 1.
  Weights(LimitedPool& pool, const Graph& graph, const std::vector<OpId>& operations,
          const ConvolutionAlgorithms& algorithms, const ParameterSource& source,
          const std::function<void(double)>& progress = {});
  /// Packs the kernels among `operations` that run by Winograd's algorithm. All other weights are borrowed
  /// from `direct`, which must outlive this.
  Weights(LimitedPool& pool, const Graph& graph, const std::vector<OpId>& operations,
          const ConvolutionAlgorithms& algorithms, const Weights& direct);

  const OpWeights& of(OpId op) const { return ops_[index(op)]; }

 private:
  std::shared_ptr<float> slab_;
  std::vector<OpWeights> ops_;
};

/// Parameters on the device, as the plan requires: all of them throughout, or those of the current pass.
class PlannedWeights {
 public:
  /// `resident` has all parameters; null if the plan loads them per pass.
  PlannedWeights(LimitedPool& pool, const Graph& graph, const Plan& plan, const ParameterSource& source,
                 const Weights* resident)
      : pool_(pool), graph_(graph), plan_(plan), source_(source), resident_(resident) {}

  /// Throws LimitExceeded and what the source throws.
  void begin_pass(size_t pass);
  void end_pass() { of_pass_.reset(); }
  const OpWeights& of(OpId op) const { return of_pass_ ? of_pass_->of(op) : resident_->of(op); }

 private:
  LimitedPool& pool_;
  const Graph& graph_;
  const Plan& plan_;
  const ParameterSource& source_;
  const Weights* resident_;
  std::optional<Weights> of_pass_;
};

}  // namespace headroom
