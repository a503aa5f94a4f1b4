#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/trace/memory_kind.h"

namespace headroom {

/// Bytes by MemoryKind.
using KindBytes = std::array<int64_t, kEventKinds>;

/// A change in memory of one kind: an allocation, a free, or a sum of several.
struct TraceEvent {
  double seconds = 0;  ///< since the start of the decode
  int64_t bytes = 0;   ///< negative: freed
  int64_t tile = -1;   ///< index in the pass; -1 outside of tiles
  int32_t pass = -1;   ///< -1 before the first
  TensorId layer{-1};  ///< tensor that uses the memory; -1 for sums and weights
  MemoryKind kind{};
  int64_t slack_bytes = 0;  ///< change in slack, for memory from a reservation
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};
/// Updates `live` with the event.
inline void apply(const TraceEvent& event, KindBytes& live) {
  live[static_cast<size_t>(event.kind)] += event.bytes;
  live[static_cast<size_t>(MemoryKind::slack)] += event.slack_bytes;
}

/// Address and lifetime of an allocation. All places share one address range: the CPU pool, or a GPU's
/// reservation. Small CPU allocations come from the heap and have no place.
struct TracePlace {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t offset = 0;  ///< bytes from the lowest address of all places
  int64_t bytes = 0;
  TensorId layer{-1};
  int32_t pass = -1;  ///< pass that allocated it; -1 before the first pass
  MemoryKind kind{};
  friend bool operator==(const TracePlace&, const TracePlace&) = default;
};

/// Time interval of a pass, tile or step.
struct TraceInterval {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t item = 0;  ///< first batch item of the micro-batch
  int32_t pass = 0;
  int64_t tile = -1;  ///< -1 for a whole pass
  int32_t step = -1;  ///< -1 for a whole tile
  friend bool operator==(const TraceInterval&, const TraceInterval&) = default;
};

/// Sums over all calls of one step.
struct TraceStepSum {
  int32_t pass = 0;
  int32_t step = 0;
  int64_t calls = 0;
  double seconds = 0;
  double device_seconds = 0;  ///< time of the GPU's kernels and copies; 0 if not recorded
  friend bool operator==(const TraceStepSum&, const TraceStepSum&) = default;
};

/// A sample of the process's growth outside the pool.
struct OutsideSample {
  double seconds = 0;
  int64_t bytes = 0;
  friend bool operator==(const OutsideSample&, const OutsideSample&) = default;
};

enum class ActivityKind : uint8_t { kernel, copy, fill };
constexpr size_t kActivityKinds = 3;
const char* name_of(ActivityKind kind);

/// A kernel, copy or fill on a GPU.
struct TraceActivity {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t tile = -1;   ///< -1 outside of tiles
  int64_t bytes = 0;   ///< copied or filled
  int32_t pass = -1;   ///< -1 if its step is unknown
  int32_t step = -1;   ///< -1 between steps
  int32_t stream = 0;  ///< the driver's number
  int32_t name = 0;    ///< index into Trace::activity_names
  ActivityKind kind{};
  friend bool operator==(const TraceActivity&, const TraceActivity&) = default;
};

/// A sample of the GPU memory that the driver attributes to this process.
struct DriverSample {
  double seconds = 0;
  int64_t bytes = 0;
  friend bool operator==(const DriverSample&, const DriverSample&) = default;
};

/// A data source of the trace, and whether it worked.
struct TraceSource {
  std::string name;       ///< "allocator", "CUPTI memory"
  bool captured = false;  ///< false: the source was not available
  std::string detail;     ///< its version, or why it failed and which program blocks it
  friend bool operator==(const TraceSource&, const TraceSource&) = default;
};

/// Kinds of exchange calls.
enum class ExchangeCall : uint8_t {
  post,   ///< start of sending and receiving
  wait,   ///< wait until messages are received or sent
  gather  ///< wait for the values of all ranks
};
constexpr size_t kExchangeCalls = 3;
const char* name_of(ExchangeCall call);

struct TraceExchange {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t sent_bytes = 0;
  int32_t pass = -1;  ///< -1 before the first
  ExchangeCall call{};
  friend bool operator==(const TraceExchange&, const TraceExchange&) = default;
};

/// The rank that a trace belongs to, and its exchanges with the other ranks.
struct TraceRank {
  int32_t rank = 0;
  int32_t ranks = 1;
  Interval latent_rows;  ///< latent rows of this rank
  int64_t predicted_peak_bytes = 0;
  /// Offset that converts the trace's times to a clock shared by all ranks. At least 0.
  double clock_offset_seconds = 0;
  int64_t sent_bytes = 0;              ///< total
  double waited_seconds = 0;           ///< total time in wait and gather calls
  std::vector<TraceExchange> calls{};  ///< capped: only the first ones
  int64_t calls_left_out = 0;
  friend bool operator==(const TraceRank&, const TraceRank&) = default;
};

/// Time and memory use of one decode. On a CPU the sum of all events up to a moment is the pool's live bytes.
/// On a GPU the sum is all GPU memory of the process.
struct Trace {
  std::string model;
  std::string device;
  std::string libraries;
  int64_t limit_bytes = 0;
  double seconds = 0;
  std::vector<TraceEvent> events;
  /// After many allocations, events become sums over a step, and later over a pass. Each sum is recorded at
  /// its peak and at its end. These are the times when that begins. Negative: it never does.
  double summed_by_step_from_seconds = -1;
  double summed_by_pass_from_seconds = -1;
  std::vector<TraceInterval> passes;
  std::vector<TraceInterval> tiles;     ///< capped: only the first ones
  std::vector<TraceInterval> steps;     ///< capped too
  std::vector<TraceStepSum> step_sums;  ///< sums over all steps
  int64_t tiles_left_out = 0;
  int64_t steps_left_out = 0;
  std::vector<OutsideSample> outside;
  std::vector<TracePlace> places;  ///< capped: only the first ones
  int64_t places_left_out = 0;
  // The fields up to `sources` are for a GPU only.
  bool by_device_clock = false;  ///< true: times of the GPU's work; false: times when the host launched it
  std::vector<TraceActivity> activities;  ///< capped: only the first ones
  std::vector<std::string> activity_names;
  int64_t activities_left_out = 0;
  int64_t activities_of_no_step = 0;  ///< activities whose step is unknown
  int64_t records_lost = 0;           ///< records that the sources dropped
  std::vector<DriverSample> driver;
  std::vector<TraceSource> sources;
  Request request{};
  std::optional<TraceRank> rank{};  ///< set if the trace is of one of several ranks
};

}  // namespace headroom
