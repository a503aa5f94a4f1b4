#pragma once

#include <cstdint>
#include <vector>

#include "decoder/plan/memory.h"
#include "decoder/plan/plan.h"

namespace headroom::test {

/// The figures that docs/planning.md ("Costs") states, for work on a machine that was not profiled.
struct Assumptions {
  double convolution_flops_per_second = 170e9;
  double attention_flops_per_second = 200e9;
  double written_bytes_per_second = 3e9;
  double step_seconds = 30e-6;
  double winograd_share = 0.4, upsampled_winograd_share = 0.6;  ///< of the direct form's time
  double transform_bytes_per_second = 4e9;
  double weights_bytes_per_second = 1e9;
  double host_bytes_per_second = 12e9;
  double scratch_bytes_per_second = 500e6;
  MemoryModel memory{};  ///< workspace, reserve and the size of blocks
};

/// A tensor with blocks of its own while a pass runs.
struct SimulatedTensor {
  TensorId tensor{-1};
  Place place = Place::device;
  int64_t block_rows = 0;
  bool written = false;  ///< by this pass
  bool leaves = false;   ///< after this pass, block by block
};

struct SimulatedPass {
  int64_t peak_bytes = 0;       ///< with every tile as large as docs/planning.md counts it
  int64_t real_peak_bytes = 0;  ///< with every tile as large as it is; 0 where that was not asked for
  double seconds = 0;           ///< of one slice
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

/// What the pool takes for so many bytes.
int64_t pool_bytes(int64_t bytes);
/// Parameters of one operation as they are packed, each from a boundary of 64 bytes.
int64_t parameter_bytes(const Graph& graph, const Op& op, ConvolutionForm form);
/// True where the Winograd form changes something.
bool has_two_forms(const Graph& graph, const Op& op);
/// Seconds of bringing all parameters in before the first pass.
double load_seconds(const Graph& graph, const Assumptions& assumptions);
/// Bytes of all blocks of a kept tensor, of all items.
int64_t block_bytes_of(const Graph& graph, TensorId tensor, int64_t block_rows, const Sizes& sizes);

}  // namespace headroom::test
