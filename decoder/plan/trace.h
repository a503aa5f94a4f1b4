#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"

namespace headroom {

/// What bytes of the pool are for.
enum class AllocationKind : uint8_t { weights, latent, kept, tile, workspace };
constexpr size_t kAllocationKinds = 5;
const char* name_of(AllocationKind kind);

/// Bytes of one kind that came or went.
struct TraceEvent {
  double seconds = 0;  ///< since the start of the decode
  int64_t bytes = 0;   ///< below zero: freed
  int64_t tile = -1;   ///< of the pass; -1 outside of tiles
  int32_t pass = -1;   ///< -1 before the first
  TensorId layer{-1};  ///< the tensor that they are for; -1 where many are summed up, and for weights
  AllocationKind kind{};
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

/// When something ran.
struct TraceInterval {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t item = 0;  ///< first batch item of the slice
  int32_t pass = 0;
  int64_t tile = -1;  ///< -1 for a whole pass
  int32_t step = -1;  ///< -1 for a whole tile
  friend bool operator==(const TraceInterval&, const TraceInterval&) = default;
};

/// All calls of one step together.
struct TraceStepSum {
  int32_t pass = 0;
  int32_t step = 0;
  int64_t calls = 0;
  double seconds = 0;
  friend bool operator==(const TraceStepSum&, const TraceStepSum&) = default;
};

/// Growth of the process outside the pool when it was looked at.
struct OutsideSample {
  double seconds = 0;
  int64_t bytes = 0;
  friend bool operator==(const OutsideSample&, const OutsideSample&) = default;
};

/// How one decode used time and memory. The bytes of all events up to one add up to the pool's live bytes
/// there.
struct Trace {
  std::string model;
  std::string device;
  std::string libraries;
  int64_t limit_bytes = 0;
  double seconds = 0;
  std::vector<TraceEvent> events;
  /// Where many allocations were: from here on events are sums over a step, or over a pass, at its highest
  /// moment and at its end. Below zero where they are single allocations throughout.
  double summed_by_step_from_seconds = -1;
  double summed_by_pass_from_seconds = -1;
  std::vector<TraceInterval> passes;
  std::vector<TraceInterval> tiles;     ///< the first ones, where there are very many
  std::vector<TraceInterval> steps;     ///< the same
  std::vector<TraceStepSum> step_sums;  ///< of all steps
  int64_t tiles_left_out = 0;
  int64_t steps_left_out = 0;
  std::vector<OutsideSample> outside;
};

}  // namespace headroom
