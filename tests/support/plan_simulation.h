#pragma once

#include <cstdint>
#include <vector>

#include "decoder/plan/plan.h"
#include "tests/support/simulated_device.h"

namespace headroom::test {

/// A tensor with blocks of its own while a pass runs.
struct SimulatedTensor {
  TensorId tensor{-1};
  MemoryTier tier = MemoryTier::device;
  int64_t block_rows = 0;
  bool written = false;  ///< by this pass
  bool leaves = false;   ///< after this pass, block by block
};

struct SimulatedPass {
  int64_t peak_bytes = 0;       ///< with every tile as large as docs/planning.md counts it
  int64_t real_peak_bytes = 0;  ///< with every tile as large as it is; 0 where that was not asked for
  double seconds = 0;           ///< of one micro-batch
};

/// Runs a pass tile by tile and step by step with a ledger of bytes and a sum of seconds: nothing of the
/// planner's own sums is used. `pass.tiles` must be set.
SimulatedPass simulate_pass(const Graph& graph, const Pass& pass, const std::vector<SimulatedTensor>& tensors,
                            const Sizes& sizes, WeightResidency weights, const Assumptions& assumptions,
                            bool with_real_peak);

struct SimulatedPlan {
  std::vector<SimulatedPass> passes;
  int64_t peak_bytes = 0;
  double seconds = 0;  ///< of the whole batch
};
SimulatedPlan simulate(const Graph& graph, const Plan& plan, const Assumptions& assumptions);

/// Bytes of all blocks of a kept tensor, of all items.
int64_t block_bytes_of(const Graph& graph, const SimulatedTensor& stored, const Sizes& sizes);

}  // namespace headroom::test
