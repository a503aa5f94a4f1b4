#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// Fills `out` with a parameter's values in the order of its shape.
using ParameterSource = std::function<void(const Parameter& parameter, float* out)>;

/// Parameters of one operation, empty tensors where it has none.
struct OpWeights {
  at::Tensor weight;  ///< convolutions: [O, I, ky, kx] in channels-last order; norms: [C]
  at::Tensor bias;    ///< [O] or [C]
};

/// All parameters of a decoder in one allocation from the current pool, fp32.
class Weights {
 public:
  /// Reads every parameter once. `progress` is told the share done, 0 to 1.
  Weights(const Graph& graph, const ParameterSource& source, const std::function<void(double)>& progress = {});

  const OpWeights& of(OpId op) const { return ops_[index(op)]; }

 private:
  at::Tensor slab_;
  std::vector<OpWeights> ops_;
};

}  // namespace headroom
