#pragma once

#include <vector>

#include "decoder/graph/graph.h"

namespace headroom::profiler {

/// The operations in the order in which diffusers' code runs them. It is the graph's, but that some blocks
/// compute their shortcut first.
std::vector<OpId> eager_order(const Graph& graph, bool shortcut_first);

/// For each tensor the place in `order` of the last operation during which it is held: its last reader, or
/// the last one of a module that was called with it, since the caller's variable names it until then. Modules
/// are found by the names of operations.
std::vector<size_t> held_until(const Graph& graph, const std::vector<OpId>& order);

/// A block's input, which the block copies when it is called. It holds the copy until it is done.
struct CopiedInput {
  TensorId tensor{};
  size_t first = 0, last = 0;  ///< places in the order: of the block's first operation and of its last
};
/// One entry for each block of a decoder with shortcuts around its blocks (DupUp3D in diffusers' code). The
/// last block is included although it has no shortcut. Empty for other decoders.
std::vector<CopiedInput> copied_inputs(const Graph& graph, const std::vector<OpId>& order);

}  // namespace headroom::profiler
