#pragma once

#include <cstdint>
#include <vector>

#include "decoder/plan/plan.h"
#include "tests/support/simulated_device.h"

namespace headroom::test {

/// A tensor that has its own blocks during a pass.
struct SimulatedTensor {
  TensorId tensor{-1};
  MemoryTier tier = MemoryTier::device;
  int64_t block_rows = 0;
  bool written = false;  ///< this pass writes it
  bool leaves = false;   ///< blocks are freed one by one after their last use in this pass
};

struct SimulatedPass {
  int64_t peak_bytes = 0;  ///< with tile sizes as docs/planning.md counts them
  double seconds = 0;      ///< of one micro-batch
};

/// Simulates a pass tile by tile and step by step, adding up bytes and seconds. Shares no code with the
/// planner's cost model. Requires `pass.tiles`.
SimulatedPass simulate_pass(const Graph& graph, const Pass& pass, const std::vector<SimulatedTensor>& tensors,
                            const Sizes& sizes, WeightResidency weights, const Assumptions& assumptions);

struct SimulatedPlan {
  std::vector<SimulatedPass> passes;
  int64_t peak_bytes = 0;
  double seconds = 0;  ///< of the whole batch
};
SimulatedPlan simulate(const Graph& graph, const Plan& plan, const Assumptions& assumptions);

/// Bytes of all blocks of a kept tensor, for all items.
int64_t block_bytes_of(const Graph& graph, const SimulatedTensor& stored, const Sizes& sizes);

}  // namespace headroom::test
