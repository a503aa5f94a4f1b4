#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/history/code_stacks.h"

namespace headroom::profiler {

/// One allocation, from the request to the free.
struct RecordedAllocation {
  uint64_t address = 0;
  int64_t bytes = 0;              ///< requested size
  int64_t block_bytes = 0;        ///< size of the allocator's block; 0 if unknown
  uint32_t begin = 0, end = 0;    ///< moments [begin, end)
  StackId stack = 0;              ///< stack of the request
  bool before_recording = false;  ///< live when the recording began: `begin` is 0
};

/// Memory that the allocator got from the driver, in one piece or mapped into an expandable segment.
struct RecordedSegment {
  uint64_t address = 0;
  int64_t bytes = 0;
  uint32_t begin = 0, end = 0;  ///< moments [begin, end)
  bool expandable = false;      ///< part of an expandable segment; adjacent parts form one segment
};

/// A refused request: out of memory.
struct RecordedRefusal {
  uint32_t moment = 0;
  int64_t asked_bytes = 0;
  std::optional<int64_t> free_bytes{};  ///< free bytes that the driver reported
  StackId stack = 0;
};

/// History of one device's allocator. Moment 0 is before the first record; each record adds one moment.
struct DeviceHistory {
  std::string device;                    ///< "cuda:0", "cpu"
  std::vector<double> seconds;           ///< by moment, from 0, non-decreasing; empty if unknown
  std::vector<int64_t> allocated_bytes;  ///< by moment; at least one
  std::vector<int64_t> reserved_bytes;   ///< by moment; empty if not recorded
  std::vector<RecordedAllocation> allocations;
  std::vector<RecordedSegment> segments;  ///< empty if only the sum is known
  std::vector<RecordedRefusal> refusals;

  size_t moments() const { return allocated_bytes.size(); }
  /// The first moment with the most bytes allocated.
  size_t peak() const;
  /// The moment of the last request: the last refusal, or else the last allocation; 0 if there is none.
  size_t asked_last() const;
  /// Allocations that are live at a moment, largest first.
  std::vector<const RecordedAllocation*> live_at(size_t moment) const;
};

/// Fragmentation of the allocator's memory at one moment.
struct Fragmentation {
  int64_t reserved_bytes = 0;
  int64_t allocated_bytes = 0;     ///< requested bytes
  int64_t largest_free_bytes = 0;  ///< largest contiguous free range
  /// Free bytes in segments with live tensors. They cannot return to the driver.
  int64_t inactive_split_bytes = 0;
  int64_t releasable_bytes = 0;  ///< bytes in segments without live tensors
  int64_t rounding_bytes = 0;    ///< block bytes beyond the requested bytes
};
/// Returns nothing if segments were not recorded. If a block's size is unknown, assumes the request rounded
/// up to 512 bytes, as PyTorch does.
std::optional<Fragmentation> fragmentation_at(const DeviceHistory& device, size_t moment);

/// Memory history of another program, read from a file.
struct MemoryHistory {
  std::string source;  ///< "memory snapshot of PyTorch"
  CodeStacks stacks;
  std::vector<DeviceHistory> devices;  ///< devices with any records; at least one
  std::string allocator_settings;      ///< PYTORCH_CUDA_ALLOC_CONF, if set

  /// Index of the device that ran out of memory last, or else of the one with the highest peak.
  size_t main_device() const;
};

constexpr size_t kMostDevices = 1024;  ///< upper bound for one file

/// Reads a snapshot written by torch.cuda.memory._dump_snapshot() or by Headroom. Parses the pickle without
/// executing it. Throws InputError that names the file and the expected content.
MemoryHistory read_memory_snapshot(const std::filesystem::path& file);

/// The autoencoder class that decodes in a recording, identified by files and functions in its stacks.
struct DecodingClass {
  std::string name;         ///< name of its family
  int64_t allocations = 0;  ///< number of allocations with its decode() on their stack
};

/// The class that allocated the most bytes, if stacks name several. Nothing if they name none.
std::optional<DecodingClass> decoding_class(const CodeStacks& stacks, const DeviceHistory& device);

/// Bytes allocated at the peak outside of all classes' decode(): weights, latents, and other models.
int64_t bytes_beside_decode(const CodeStacks& stacks, const DeviceHistory& device);

}  // namespace headroom::profiler
