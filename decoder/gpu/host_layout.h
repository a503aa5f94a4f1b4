#pragma once

#include <cstdint>
#include <map>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Where materialised tensors lie in the host's memory beside a GPU: each in one piece while its passes run.
struct HostLayout {
  struct Place {
    int64_t offset = 0;
    int64_t block_bytes = 0;
  };
  std::map<TensorId, Place> tensors;
  int64_t bytes = 0;
};

/// Of all items of a micro-batch.
HostLayout host_layout(const Graph& graph, const Plan& plan);

}  // namespace headroom
