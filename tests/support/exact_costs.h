#pragma once

#include "planner/cost/cost_model.h"

namespace headroom::test {

/// Assumed costs of a device whose allocator has reservations of every size. A small decode on a GPU then has
/// a tight limit, where LibTorch's allocator takes 10 MiB at least.
inline planner::CostModel exact_costs(const Graph& graph, DeviceKind device = DeviceKind::cuda) {
  if (device == DeviceKind::cpu) return planner::CostModel(graph);
  planner::GpuCard card;
  card.reservation = {};
  return {graph, card};
}

}  // namespace headroom::test
