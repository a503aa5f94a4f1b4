#pragma once

#include <string>

#include "decoder/plan/plan.h"
#include "profiler/measure/operands.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

/// Makes calls that can be measured: the steps of a device on one item, with what they read at hand
/// (Benchmark says what the calls are). All references must outlive them.
class Calls {
 public:
  Calls(const Graph& graph, Device& device, Operands& operands)
      : graph_(graph), device_(device), operands_(operands) {}

  /// An operation on a tile of these extents; of attention, its queries and keys. Statistics and sums that it
  /// reads or adds to must be there (prepare_statistics).
  Call operation(const Op& op, int64_t rows, int64_t columns) const;
  /// A step that moves whole pixels: "gather", "store", "accumulate" or "emit".
  Call moving(const std::string& step, int64_t channels, int64_t rows, int64_t columns) const;
  /// Gathers the statistics or sums that `op` makes, of a few values of every frame of the latent.
  void prepare_statistics(const Op& op, const Extent& latent) const;

 private:
  const Graph& graph_;
  Device& device_;
  Operands& operands_;
};

}  // namespace headroom::profiler
