#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

// Memory of an untiled eager decode by diffusers' code, which runs operator by operator on LibTorch. Tensor
// lifetimes are those of Python variables, so they follow from the code:
//
//     caller            hidden_states = up_block(hidden_states)
//                       |------------- held until the block returns ------------|
//     up_block                 x = resnet(x)       x = resnet(x)
//                              |--- held ---|      |--- held ---|
//     resnet                   norm  silu  conv …  add
//                              |-----| |-----| …       each result until the next one takes its name
// Workspace is memory inside an operator, such as copies in another layout and intermediate results.

namespace headroom::profiler {

/// Memory of one operation at its peak. If a clip is decoded chunk by chunk, the chunk with the most live
/// bytes counts.
struct EagerLayer {
  int64_t activation_bytes = 0;  ///< bytes of its result; 0 if another operation computes it
  int64_t workspace_bytes = 0;   ///< peak bytes beside inputs and result
  int64_t live_bytes = 0;        ///< all live bytes then, weights included
};

struct EagerTensor {
  std::string name;
  int64_t bytes = 0;
  friend bool operator==(const EagerTensor&, const EagerTensor&) = default;
};

struct EagerDecode {
  int64_t weights_bytes = 0;           ///< in the request's dtype
  int64_t peak_bytes = 0;              ///< peak of allocated bytes, weights included
  OpId peak_layer{-1};                 ///< operation that runs at the peak
  std::vector<EagerTensor> peak_live;  ///< live tensors at the peak, largest first
  std::vector<EagerLayer> layers;      ///< indexed by operation
};

/// Predicts the memory of an untiled decode or encode of this request by diffusers. Returns nothing if the
/// model's family has no EagerNetwork, or for an encoder another one than `kl`. On the CPU, oneDNN runs the
/// convolutions and copies inputs that are not channels-last. On a GPU, cuDNN's workspace is not counted.
/// `model` must be built for the request's direction and frames.
std::optional<EagerDecode> eager_decode(const Model& model, const Request& request);

/// The operations in the order of diffusers' code. This is the graph's order, except that some blocks compute
/// their shortcut first.
std::vector<OpId> eager_order(const Graph& graph, bool shortcut_first);

/// For each tensor, the index in `order` of the last operation during which it is held. This is its last
/// reader, or the last operation of a module that was called with it, because the caller's variable holds it
/// until the call returns. Modules are identified by the names of operations.
std::vector<size_t> held_until(const Graph& graph, const std::vector<OpId>& order);

/// A block's input. The block copies it when called and holds the copy until it returns.
struct CopiedInput {
  TensorId tensor{};
  size_t first = 0, last = 0;  ///< indices in the order of the block's first and last operation
};
/// One entry for each block of a decoder with shortcuts around its blocks (DupUp3D in diffusers' code). The
/// last block is included although it has no shortcut. Empty for other decoders.
std::vector<CopiedInput> copied_inputs(const Graph& graph, const std::vector<OpId>& order);

}  // namespace headroom::profiler
