#pragma once

#include <vector>

#include "decoder/graph/graph.h"

namespace headroom::profiler {

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
