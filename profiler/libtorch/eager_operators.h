#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/eager/layer_memory.h"
#include "profiler/libtorch/eager_weights.h"

namespace headroom::profiler {

/// One operation that is to run.
struct EagerCall {
  const Graph& graph;
  const Op& op;
  /// Operators may drop them, as code does that gives a variable another value. Undefined for statistics,
  /// which the operator that reads them takes itself.
  std::vector<at::Tensor>& inputs;
  const std::vector<at::Tensor>& held;  ///< by tensor of the graph: what is held beside the inputs
  int64_t chunk = 0;                    ///< of frames
};

/// The operators of LibTorch with which diffusers' code of a class carries out operations of the graph: the
/// same calls, with results on the way under the same variables, since those decide what is held when.
class EagerOperators {
 public:
  virtual ~EagerOperators() = default;
  /// The operation's result; undefined where another operation makes it.
  virtual at::Tensor run(const EagerCall& call) = 0;
  /// What is kept beside results, of frames for the next chunk, say; null where an operation keeps nothing.
  virtual const at::Tensor* kept(const Op&) const { return nullptr; }
  /// Drops all that is kept.
  virtual void forget() {}
};

std::unique_ptr<EagerOperators> kl_operators(const EagerWeights& weights);
std::unique_ptr<EagerOperators> dc_operators(const EagerWeights& weights);
std::unique_ptr<EagerOperators> wan_operators(const EagerWeights& weights);

}  // namespace headroom::profiler
