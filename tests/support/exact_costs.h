#pragma once

#include "planner/cost/cost_model.h"

namespace headroom::test {

/// Assumed costs of a device whose allocator can reserve any size. LibTorch's allocator reserves at least 10
/// MiB, which would make the limit of a small GPU decode loose.
inline planner::CostModel exact_costs(const Graph& graph, DeviceKind device = DeviceKind::cuda) {
  if (device == DeviceKind::cpu) return planner::CostModel(graph);
  planner::GpuCard card;
  card.reservation = {};
  return {graph, card};
}

}  // namespace headroom::test
