#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/history/memory_history.h"

namespace headroom::profiler {

/// One record of an allocator.
struct MemoryRecord {
  enum class Action : uint8_t { alloc, free, segment_taken, segment_returned, refused };
  static constexpr int64_t kUnknown = -1;
  Action action{};
  bool expandable = false;  ///< of segments: part of an expandable segment
  StackId stack = 0;
  uint64_t address = 0;
  int64_t bytes = 0;              ///< at least 0
  double seconds = std::nan("");  ///< NaN if unknown
  int64_t free_bytes = kUnknown;  ///< free bytes of the device, for refusals
};
static_assert(sizeof(MemoryRecord) == 40, "files have millions of them");
/// Upper bound for replay()'s memory per record in bytes: the record, an allocation and its map entry.
constexpr uint64_t kReplayBytes = 144;

/// A block that the allocator held when the recording ended.
struct FinalBlock {
  uint64_t address = 0;
  int64_t bytes = 0, asked_bytes = 0;
  StackId stack = 0;
};
struct FinalState {
  std::vector<RecordedSegment> segments;
  std::vector<FinalBlock> blocks;  ///< blocks in use
};

/// Upper bound for live bytes in a file: more than any machine has, and too small for sums to overflow.
constexpr int64_t kMostRecordedBytes = int64_t{1} << 50;

/// Computes the live memory at each moment from records in order. A recording may begin in the middle. Memory
/// that is freed, or live at the end, without an allocation record counts as live from the start. `origin`
/// names the file in errors. Throws InputError if more than kMostRecordedBytes are live.
DeviceHistory replay(std::string device, const std::vector<MemoryRecord>& records, const FinalState& end,
                     const std::string& origin);

}  // namespace headroom::profiler
