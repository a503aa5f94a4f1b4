#pragma once

#include <cstdint>
#include <map>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Offsets of kept tensors in pinned host memory. All blocks of a tensor, for all items, are contiguous.
struct HostLayout {
  struct Buffer {
    int64_t offset = 0;
    int64_t block_bytes = 0;  ///< from one block to the next
  };
  std::map<TensorId, Buffer> tensors;
  int64_t bytes = 0;
};

/// The layout for all items of a micro-batch.
HostLayout host_layout(const Graph& graph, const Plan& plan);

}  // namespace headroom
