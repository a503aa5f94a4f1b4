#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/trace/memory_kind.h"

namespace headroom {

/// Bytes of each kind.
using KindBytes = std::array<int64_t, kEventKinds>;

/// Bytes of one kind that came or went.
struct TraceEvent {
  double seconds = 0;  ///< since the start of the decode
  int64_t bytes = 0;   ///< below zero: freed
  int64_t tile = -1;   ///< of the pass; -1 outside of tiles
  int32_t pass = -1;   ///< -1 before the first
  TensorId layer{-1};  ///< the tensor that they are for; -1 where many are summed up, and for weights
  MemoryKind kind{};
  int64_t slack_bytes = 0;  ///< of memory that was reserved already: what came of the slack
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};
/// Goes on to what there is after the event.
inline void apply(const TraceEvent& event, KindBytes& live) {
  live[static_cast<size_t>(event.kind)] += event.bytes;
  live[static_cast<size_t>(MemoryKind::slack)] += event.slack_bytes;
}

/// An allocation where it lay, among all that share one range of addresses: the pool of the CPU, or a GPU's
/// reservation. Small ones of the CPU come from the heap and have no place.
struct TracePlace {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t offset = 0;  ///< from the lowest address among them
  int64_t bytes = 0;
  TensorId layer{-1};
  int32_t pass = -1;  ///< that asked for it; -1 before the first
  MemoryKind kind{};
  friend bool operator==(const TracePlace&, const TracePlace&) = default;
};

/// When something ran.
struct TraceInterval {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t item = 0;  ///< first batch item of the micro-batch
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
  double device_seconds = 0;  ///< of a GPU's kernels and copies; 0 where they were not watched
  friend bool operator==(const TraceStepSum&, const TraceStepSum&) = default;
};

/// Growth of the process outside the pool when it was looked at.
struct OutsideSample {
  double seconds = 0;
  int64_t bytes = 0;
  friend bool operator==(const OutsideSample&, const OutsideSample&) = default;
};

enum class ActivityKind : uint8_t { kernel, copy, fill };
constexpr size_t kActivityKinds = 3;
const char* name_of(ActivityKind kind);

/// Something that a GPU did.
struct TraceActivity {
  double begin_seconds = 0;
  double end_seconds = 0;
  int64_t tile = -1;   ///< -1 outside of tiles
  int64_t bytes = 0;   ///< copied or filled
  int32_t pass = -1;   ///< -1 where it is not known for which step it was
  int32_t step = -1;   ///< -1 between steps
  int32_t stream = 0;  ///< the driver's number
  int32_t name = 0;    ///< index into Trace::activity_names
  ActivityKind kind{};
  friend bool operator==(const TraceActivity&, const TraceActivity&) = default;
};

/// The bytes of the GPU's memory that the driver counted as this process's when it was asked.
struct DriverSample {
  double seconds = 0;
  int64_t bytes = 0;
  friend bool operator==(const DriverSample&, const DriverSample&) = default;
};

/// Something that watched the decode, or was to.
struct TraceSource {
  std::string name;       ///< "allocator", "CUPTI memory"
  bool captured = false;  ///< false: it did not work
  std::string detail;     ///< its version; or why it did not work, and which program is in the way
  friend bool operator==(const TraceSource&, const TraceSource&) = default;
};

/// Kinds of exchange calls.
enum class ExchangeCall : uint8_t {
  post,   ///< began to send and to receive
  wait,   ///< stood still until messages had come, or gone
  gather  ///< stood still until the values of all ranks were there
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
  Interval latent_rows;  ///< that it owns
  int64_t predicted_peak_bytes = 0;
  /// Offset that converts the trace's times to a clock shared by all ranks. At least 0.
  double clock_offset_seconds = 0;
  int64_t sent_bytes = 0;              ///< in all
  double waited_seconds = 0;           ///< the same: for messages and for values of all ranks
  std::vector<TraceExchange> calls{};  ///< the first ones, where there are very many
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
  /// After very many allocations, events are sums over a step, and later over a pass, taken at its peak and
  /// at its end. These are the times when that begins. Negative: it never does.
  double summed_by_step_from_seconds = -1;
  double summed_by_pass_from_seconds = -1;
  std::vector<TraceInterval> passes;
  std::vector<TraceInterval> tiles;     ///< the first ones, where there are very many
  std::vector<TraceInterval> steps;     ///< the same
  std::vector<TraceStepSum> step_sums;  ///< of all steps
  int64_t tiles_left_out = 0;
  int64_t steps_left_out = 0;
  std::vector<OutsideSample> outside;
  std::vector<TracePlace> places;  ///< the first ones, where there are very many
  int64_t places_left_out = 0;
  // The fields up to `sources` are for a GPU only.
  bool by_device_clock = false;  ///< times are those of the GPU's work; false: of the host asking for it
  std::vector<TraceActivity> activities;  ///< the first ones, where there are very many
  std::vector<std::string> activity_names;
  int64_t activities_left_out = 0;
  int64_t activities_of_no_step = 0;  ///< whose step is not known
  int64_t records_lost = 0;           ///< by those who watched
  std::vector<DriverSample> driver;
  std::vector<TraceSource> sources;
  Request request{};
  std::optional<TraceRank> rank{};  ///< where the decode is one rank's share
};

}  // namespace headroom
