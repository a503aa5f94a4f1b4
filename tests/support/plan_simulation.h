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
  int64_t rows = 0;      ///< that are stored, where it is kept above a row; 0: all
  /// Of the upper part of a pass: the lower part, where the tensor leaves in that one.
  const Pass* held_by = nullptr;
  int64_t gone_rows = 0;   ///< that are gone when the pass begins
  int64_t held_from = -1;  ///< of what leaves, the first row that stays after the pass; -1 where none does
};

/// The first row of a tensor that the first band of a pass reads; the number of rows where none does.
int64_t rows_read_first(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes);

struct SimulatedPass {
  int64_t peak_bytes = 0;       ///< with every tile as large as docs/planning.md counts it
  int64_t real_peak_bytes = 0;  ///< with every tile as large as it is; 0 where that was not asked for
  double seconds = 0;           ///< of one micro-batch
};

/// Runs a pass tile by tile and step by step with a ledger of bytes and a sum of seconds: nothing of the
/// planner's own sums is used. `pass.tiles` must be set, and those of a lower part that holds tensors.
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
