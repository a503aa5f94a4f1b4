#pragma once

#include <cstdint>
#include <map>

namespace headroom {

/// Stack-like allocator of offsets in one memory range: each new block lies behind all live ones.
class StackedOffsets {
 public:
  explicit StackedOffsets(int64_t bytes) : bytes_(bytes) {}

  /// Allocates `bytes` and returns their offset. Throws LimitExceeded if the range is too small.
  int64_t take(int64_t bytes);
  void give_back(int64_t offset) noexcept;
  /// Highest end offset so far.
  int64_t most_bytes() const { return most_bytes_; }

 private:
  int64_t bytes_;
  int64_t most_bytes_ = 0;
  std::map<int64_t, int64_t> live_;  ///< end offset by offset
};

}  // namespace headroom
