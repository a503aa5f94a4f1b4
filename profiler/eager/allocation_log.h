#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiler/eager/recorded_decode.h"

namespace headroom::profiler {

/// What an allocator reported during one decode, and which layer ran when. Every report makes a moment:
///
///     moments   0   1   2   3   4   5   6
///     reports     +a  +b  +c  -b  +d  -a
///     layers         |- conv ----|- add -|
///
/// Layers may run several times, one after another; what is reported between them belongs to none.
class AllocationLog {
 public:
  /// `reserved_bytes`: what the allocator holds from now on, asked for or not.
  void taken(uint64_t address, int64_t bytes, int64_t reserved_bytes);
  /// What was not reported as taken is ignored.
  void returned(uint64_t address, int64_t reserved_bytes);

  /// What the memory at this address is called from when it was taken on. The last name counts.
  void name(uint64_t address, const std::string& name);
  /// The memory that is live now is there before the decode begins: what was highest before does not count.
  void begin_decode();
  void begin_layer(size_t layer);
  /// `result`: the address of its result; 0 where it has none.
  void end_layer(uint64_t result, double seconds);

  /// Fills in what was measured, but for names and kinds of layers, of which there are `layers`.
  /// What is live at the peak under no name is "workspace".
  RecordedEagerDecode recorded(size_t layers) const;
  /// The layer that ran at the peak; `layers` where none did.
  size_t peak_layer(size_t layers) const;

 private:
  struct Allocation {
    int64_t bytes = 0;
    size_t begin = 0, end = SIZE_MAX;  ///< moments [begin, end)
    std::string name;
  };
  struct Moment {
    int64_t live_bytes = 0, reserved_bytes = 0;
  };
  struct Span {
    size_t layer = 0;
    size_t begin = 0, end = 0;  ///< moments [begin, end]: the first is the one before its first report
    int64_t activation_bytes = 0;
    double seconds = 0;
  };
  size_t highest(size_t begin, size_t end) const;

  std::vector<Allocation> allocations_;
  std::map<uint64_t, size_t> live_;  ///< by address
  std::vector<Moment> moments_{Moment{}};
  std::vector<Span> spans_;
  size_t decode_begin_ = 0;
};

}  // namespace headroom::profiler
