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
  bool expandable = false;  ///< of segments: a piece of an expandable one
  StackId stack = 0;
  uint64_t address = 0;
  int64_t bytes = 0;              ///< at least 0
  double seconds = std::nan("");  ///< not a number where it is not known
  int64_t free_bytes = kUnknown;  ///< of a refusal
};
static_assert(sizeof(MemoryRecord) == 40, "files have millions of them");
/// Most bytes that replay() needs for one record, the record itself included: an allocation with its entry by
/// address.
constexpr uint64_t kReplayBytes = 144;

/// A block that the allocator held when the recording ended.
struct FinalBlock {
  uint64_t address = 0;
  int64_t bytes = 0, asked_bytes = 0;
  StackId stack = 0;
};
struct FinalState {
  std::vector<RecordedSegment> segments;
  std::vector<FinalBlock> blocks;  ///< those in use
};

/// More than any machine has, and far from where sums of a file would overflow.
constexpr int64_t kMostRecordedBytes = int64_t{1} << 50;

/// Computes what memory was live at each moment, from records in their order. A recording may begin in the
/// middle: memory that is freed, or live at the end, without an allocation record was there before. `origin`
/// names the file. Throws InputError if more than kMostRecordedBytes are live.
DeviceHistory replay(std::string device, const std::vector<MemoryRecord>& records, const FinalState& end,
                     const std::string& origin);

}  // namespace headroom::profiler
