#include "decoder/runtime/arena.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace headroom {

Arena::Arena(int64_t bytes) : bytes_(bytes / kUnit * kUnit) {
  if (bytes_ > 0) gaps_[0] = bytes_;
}

/// The largest gap is the middle ground: it is cut only where no other one is large enough.
Arena::Gaps::iterator Arena::best_gap(int64_t bytes, End end) {
  const auto middle = std::max_element(gaps_.begin(), gaps_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const bool own_side = end == End::low ? gap->first <= middle->first : gap->first >= middle->first;
    if (gap->second < bytes || gap == middle || !own_side) continue;
    if (best == gaps_.end() || gap->second < best->second) best = gap;
  }
  if (best != gaps_.end()) return best;
  if (middle != gaps_.end() && middle->second >= bytes) return middle;
  return gaps_.end();
}

int64_t Arena::allocate(int64_t bytes, End end) {
  bytes = std::max<int64_t>(1, (bytes + kUnit - 1) / kUnit) * kUnit;
  const auto gap = best_gap(bytes, end);
  if (gap == gaps_.end()) return -1;
  const auto [begin, length] = *gap;
  gaps_.erase(gap);
  const int64_t offset = end == End::low ? begin : begin + length - bytes;
  if (offset > begin) gaps_[begin] = offset - begin;
  if (offset + bytes < begin + length) gaps_[offset + bytes] = begin + length - offset - bytes;
  used_[offset] = bytes;
  live_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return offset;
}

void Arena::free(int64_t offset) {
  const auto used = used_.find(offset);
  if (used == used_.end()) throw std::logic_error("not a place of this arena");
  int64_t begin = offset, bytes = used->second;
  live_bytes_ -= bytes;
  used_.erase(used);
  auto after = gaps_.lower_bound(begin);
  if (after != gaps_.end() && after->first == begin + bytes) {
    bytes += after->second;
    after = gaps_.erase(after);
  }
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      gaps_.erase(before);
    }
  }
  gaps_[begin] = bytes;
}

}  // namespace headroom
