#pragma once

#include <cstdint>
#include <map>

namespace headroom {

/// Offsets in one range of memory, given out as they are asked for: each lies behind all that are live.
class StackedOffsets {
 public:
  explicit StackedOffsets(int64_t bytes) : bytes_(bytes) {}

  /// The offset of so many bytes. Throws LimitExceeded beyond the range.
  int64_t take(int64_t bytes);
  void give_back(int64_t offset) noexcept;
  /// The end of the last of them so far.
  int64_t most_bytes() const { return most_bytes_; }

 private:
  int64_t bytes_;
  int64_t most_bytes_ = 0;
  std::map<int64_t, int64_t> live_;  ///< ends by offsets
};

}  // namespace headroom
