#pragma once

#include <string>

#include "decoder/plan/plan.h"
#include "profiler/measure/operands.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

/// Builds measurable calls: a device's steps on one item, with their operands prepared. Benchmark documents
/// the calls. All references must outlive this object and its calls.
class Calls {
 public:
  Calls(const Graph& graph, Device& device, Operands& operands)
      : graph_(graph), device_(device), operands_(operands) {}

  /// An operation on a tile of this extent. For attention, rows are queries and columns are keys. If the
  /// operation reads or adds to statistics or sums, call prepare_statistics() first.
  Call operation(const Op& op, int64_t rows, int64_t columns) const;
  /// A step that moves whole pixels: "gather", "store", "accumulate" or "emit".
  Call moving(const std::string& step, int64_t channels, int64_t rows, int64_t columns) const;
  /// Gathers the statistics or sums that `op` makes, from a few values of every frame of the latent.
  void prepare_statistics(const Op& op, const Extent& latent) const;

 private:
  const Graph& graph_;
  Device& device_;
  Operands& operands_;
};

}  // namespace headroom::profiler
