#include "decoder/gpu/free_space.h"

#include <iterator>

namespace headroom {

std::optional<int64_t> FreeSpace::take_lowest(int64_t bytes) {
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    if (gap->second - gap->first >= bytes) return take(gap, gap->first, bytes);
  }
  return std::nullopt;
}

std::optional<int64_t> FreeSpace::take_highest(int64_t bytes, int64_t with_bytes) {
  for (auto gap = gaps_.end(); gap != gaps_.begin();) {
    --gap;
    if (gap->second - gap->first >= with_bytes) return take(gap, gap->second - with_bytes, bytes);
  }
  return std::nullopt;
}

std::optional<int64_t> FreeSpace::take_smallest(int64_t bytes, int64_t with_bytes) {
  const auto smallest = by_size_.lower_bound({with_bytes, 0});
  if (smallest == by_size_.end()) return std::nullopt;
  const int64_t begin = smallest->second;
  return take(gaps_.find(begin), begin, bytes);
}

std::optional<int64_t> FreeSpace::take_at(int64_t offset, int64_t bytes) {
  auto gap = gaps_.upper_bound(offset);
  if (gap == gaps_.begin() || (--gap)->second < offset + bytes) return std::nullopt;
  return take(gap, offset, bytes);
}

void FreeSpace::give_back(int64_t begin, int64_t bytes) {
  int64_t end = begin + bytes;
  Gaps::const_iterator after = gaps_.lower_bound(begin);
  if (after != gaps_.end() && after->first == end) {
    end = after->second;
    after = remove(after);
  }
  if (after != gaps_.begin() && std::prev(after)->second == begin) {
    begin = std::prev(after)->first;
    remove(std::prev(after));
  }
  add(begin, end);
}

int64_t FreeSpace::take(Gaps::const_iterator gap, int64_t offset, int64_t bytes) {
  const auto [begin, end] = *gap;
  remove(gap);
  add(begin, offset);
  add(offset + bytes, end);
  return offset;
}

void FreeSpace::add(int64_t begin, int64_t end) {
  if (begin == end) return;
  gaps_[begin] = end;
  by_size_.insert({end - begin, begin});
}

FreeSpace::Gaps::const_iterator FreeSpace::remove(Gaps::const_iterator gap) {
  by_size_.erase({gap->second - gap->first, gap->first});
  return gaps_.erase(gap);
}

}  // namespace headroom
