#pragma once

#include <memory>
#include <string>

#include "decoder/cpu/pool.h"
#include "profiler/measure/cold_buffer.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

/// Calls on the CPU, in memory of a pool (Benchmark has what they are).
class CpuCalls {
 public:
  /// The pool must outlive the calls, as must the graph.
  CpuCalls(Pool& pool, const Graph& graph, Dtype dtype);

  Call operation(const Op& op, ConvolutionAlgorithm algorithm, int64_t rows, int64_t columns) const;
  /// A step that moves whole pixels: "gather", "store", "accumulate" or "emit".
  Call moving(const std::string& step, int64_t channels, int64_t rows, int64_t columns) const;

 private:
  Pool& pool_;
  const Graph& graph_;
  const std::shared_ptr<ColdBuffer> cold_;
};

}  // namespace headroom::profiler
