#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

namespace headroom {

/// Places in one stretch of memory, as offsets: nothing here touches the memory itself. Tiles and workspace,
/// which come and go, are placed from its beginning up; what stays longer from its end down; each in the
/// smallest gap on its side of the middle ground. Deterministic: the same order of calls gives the same
/// places.
class Arena {
 public:
  static constexpr int64_t kUnit = 512;
  enum class End { low, high };

  /// `bytes` is rounded down to whole units.
  explicit Arena(int64_t bytes);

  /// Returns -1 where there is no gap that is large enough, although there may be enough in all.
  int64_t allocate(int64_t bytes, End end);
  void free(int64_t offset);

  int64_t bytes() const { return bytes_; }
  int64_t live_bytes() const { return live_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  using Gaps = std::map<int64_t, int64_t>;  ///< offset -> bytes
  Gaps::iterator best_gap(int64_t bytes, End end);

  int64_t bytes_;
  Gaps gaps_;
  std::unordered_map<int64_t, int64_t> used_;
  int64_t live_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace headroom
