#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace headroom {

/// What is free of so many bytes, while requests come and go. Neighbours that are free are one gap.
class FreeSpace {
 public:
  explicit FreeSpace(int64_t bytes) { add(0, bytes); }

  // Each takes so many bytes where it says, and returns where they lie; empty where there is no such gap.

  /// In the lowest gap that has them.
  std::optional<int64_t> take_lowest(int64_t bytes);
  /// In the highest gap that has `with_bytes`, so that these would end with it.
  std::optional<int64_t> take_highest(int64_t bytes, int64_t with_bytes);
  /// In the smallest gap that has `with_bytes`, the lowest of several.
  std::optional<int64_t> take_smallest(int64_t bytes, int64_t with_bytes);
  /// There, where all of it is free.
  std::optional<int64_t> take_at(int64_t offset, int64_t bytes);

  void give_back(int64_t begin, int64_t bytes);

 private:
  using Gaps = std::map<int64_t, int64_t>;  // end by begin

  int64_t take(Gaps::const_iterator gap, int64_t offset, int64_t bytes);
  void add(int64_t begin, int64_t end);
  Gaps::const_iterator remove(Gaps::const_iterator gap);

  Gaps gaps_;
  std::set<std::pair<int64_t, int64_t>> by_size_;  ///< bytes, begin
};

}  // namespace headroom
