#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/history/code_stacks.h"

namespace headroom::profiler {

/// A tensor's memory, from the moment that it was asked for to the one that gave it back.
struct RecordedAllocation {
  uint64_t address = 0;
  int64_t bytes = 0;              ///< as asked for
  int64_t block_bytes = 0;        ///< of the allocator's block for it, where it is known; else 0
  uint32_t begin = 0, end = 0;    ///< moments [begin, end)
  StackId stack = 0;              ///< who asked
  bool before_recording = false;  ///< was there when the recording began: `begin` is 0
};

/// Memory that the allocator held, taken from the driver in one piece or mapped into an expandable segment.
struct RecordedSegment {
  uint64_t address = 0;
  int64_t bytes = 0;
  uint32_t begin = 0, end = 0;  ///< moments [begin, end)
  bool expandable = false;      ///< a piece of one: together with its neighbours a segment
};

/// A request that was refused: out of memory.
struct RecordedRefusal {
  uint32_t moment = 0;
  int64_t asked_bytes = 0;
  std::optional<int64_t> free_bytes{};  ///< that the driver reported then
  StackId stack = 0;
};

/// Records of one device's allocator. Moment 0 is before the first record; each record adds one moment.
struct DeviceHistory {
  std::string device;           ///< "cuda:0", "cpu"
  std::vector<double> seconds;  ///< of each moment, from 0 on, never falling; empty where no times are known
  std::vector<int64_t> allocated_bytes;  ///< of each moment; at least one
  std::vector<int64_t> reserved_bytes;   ///< as many, or none where that was not recorded
  std::vector<RecordedAllocation> allocations;
  std::vector<RecordedSegment> segments;  ///< empty where only their sum is known
  std::vector<RecordedRefusal> refusals;

  size_t moments() const { return allocated_bytes.size(); }
  /// The first moment with the most bytes allocated.
  size_t peak() const;
  /// The moment of the last request: the last refusal, or else the last allocation; 0 if there is none.
  size_t asked_last() const;
  /// Allocations that are live at a moment, largest first.
  std::vector<const RecordedAllocation*> live_at(size_t moment) const;
};

/// Memory that the allocator could not use at one moment.
struct Fragmentation {
  int64_t reserved_bytes = 0;
  int64_t allocated_bytes = 0;       ///< as asked for
  int64_t largest_free_bytes = 0;    ///< in one piece
  int64_t inactive_split_bytes = 0;  ///< free, in segments that hold a tensor: cannot go back to the driver
  int64_t releasable_bytes = 0;      ///< in segments that hold none
  int64_t rounding_bytes = 0;        ///< of blocks beyond what was asked for
};
/// Nothing where segments were not recorded. Where a block's size is not known it is what was asked for,
/// rounded up to 512 bytes as PyTorch does.
std::optional<Fragmentation> fragmentation_at(const DeviceHistory& device, size_t moment);

/// Memory of other programs, as a file recorded it.
struct MemoryHistory {
  std::string source;  ///< "memory snapshot of PyTorch"
  CodeStacks stacks;
  std::vector<DeviceHistory> devices;  ///< of which anything was recorded; at least one
  std::string allocator_settings;      ///< PYTORCH_CUDA_ALLOC_CONF, where it was set

  /// The device that was out of memory last, or else the one with the highest peak.
  size_t main_device() const;
};

constexpr size_t kMostDevices = 1024;  ///< of one file

/// Reads a snapshot that torch.cuda.memory._dump_snapshot() or Headroom wrote. The pickle is parsed, not
/// executed. Throws InputError naming the file and what was expected.
MemoryHistory read_memory_snapshot(const std::filesystem::path& file);

}  // namespace headroom::profiler
