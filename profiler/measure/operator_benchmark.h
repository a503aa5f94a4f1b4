#pragma once

#include <functional>
#include <string>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom::profiler {

/// A call that can be repeated, ready to run, and the bytes that its result takes.
struct Call {
  std::function<void()> run;
  int64_t result_bytes = 0;
  std::function<void()> finish{};  ///< after the last of several; empty where there is nothing to finish
};

/// A device on which the calls of a decoder are measured one by one, with the code that decodes run on it.
/// Calls must not outlive it.
class Benchmark {
 public:
  virtual ~Benchmark() = default;

  virtual DeviceKind device() const = 0;
  /// An operation on a tile of these extents; of attention, its queries and keys. The operation must be of
  /// the graph that the benchmark is for.
  virtual Call operation_call(const Op& op, ConvolutionAlgorithm algorithm, int64_t rows,
                              int64_t columns) = 0;
  /// A step that moves pixels between tiles and what is kept: "gather", "store", "accumulate" or
  /// "emit".
  virtual Call moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) = 0;

  /// Seconds of one call, measured over several calls.
  virtual double seconds(const Call& call) = 0;
  /// Seconds of a fixed reference call.
  virtual double reference_seconds() = 0;
  /// For so many seconds after a measurement the device's clock drift is taken to be the same.
  virtual double steady_clock_drift_seconds() const = 0;

  /// How long threads of this process have waited for processors that others had, all together; 0 where a
  /// device has no others or nobody knows.
  virtual double waited_seconds() const { return 0; }
  /// Threads that work on a call.
  virtual int threads() const { return 1; }

  virtual int64_t live_bytes() const = 0;
  /// Live bytes at their highest since start_window().
  virtual void start_window() = 0;
  virtual int64_t window_peak_bytes() const = 0;
};

}  // namespace headroom::profiler
