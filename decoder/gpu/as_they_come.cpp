#include "decoder/gpu/as_they_come.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace headroom {
namespace {

/// What is free between what is live, and above it.
class Gaps {
 public:
  Gaps() { add(0, std::numeric_limits<int64_t>::max() / 2); }

  /// The smallest that has so many bytes.
  int64_t smallest(int64_t bytes) const { return by_size_.lower_bound({bytes, 0})->second; }
  /// Whether one with so many bytes begins there.
  bool begins_at(int64_t offset, int64_t bytes) const {
    const auto gap = gaps_.find(offset);
    return gap != gaps_.end() && gap->second >= bytes;
  }

  void take(int64_t offset, int64_t bytes) {
    const auto gap = std::prev(gaps_.upper_bound(offset));
    const int64_t begin = gap->first, end = begin + gap->second;
    remove(gap);
    add(begin, offset - begin);
    add(offset + bytes, end - offset - bytes);
  }

  void give_back(int64_t begin, int64_t bytes) {
    auto after = gaps_.lower_bound(begin);
    if (after != gaps_.end() && after->first == begin + bytes) {
      bytes += after->second;
      after = remove(after);
    }
    if (after != gaps_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == begin) {
        begin = before->first;
        bytes += before->second;
        remove(before);
      }
    }
    add(begin, bytes);
  }

 private:
  void add(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    gaps_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  std::map<int64_t, int64_t>::iterator remove(std::map<int64_t, int64_t>::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    return gaps_.erase(gap);
  }

  std::map<int64_t, int64_t> gaps_;                // offset -> bytes
  std::set<std::pair<int64_t, int64_t>> by_size_;  // bytes, offset
};

}  // namespace

Placement place_as_they_come(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                             bool together, std::span<const int64_t> held) {
  Placement placement{0, 0, std::vector<int64_t>(ranges.size()), {}};
  Gaps gaps;
  const auto offset_for = [&](const MemoryRequests::Event& event) {
    if (event.number < std::ssize(held)) return held[static_cast<size_t>(event.number)];
    const auto& [before, bytes_after] = event.series;
    if (before >= 0) {
      const auto number = static_cast<size_t>(before);
      const int64_t behind = placement.offsets[number] + ranges[number].bytes;
      if (gaps.begins_at(behind, event.bytes)) return behind;
    }
    return gaps.smallest(event.bytes + (together ? bytes_after : 0));
  };
  for (const MemoryRequests::Event& event : requests.events()) {
    int64_t& offset = placement.offsets[static_cast<size_t>(event.number)];
    if (event.bytes == 0) {
      gaps.give_back(offset, ranges[static_cast<size_t>(event.number)].bytes);
      continue;
    }
    offset = offset_for(event);
    gaps.take(offset, event.bytes);
    placement.bytes = std::max(placement.bytes, offset + event.bytes);
  }
  return placement;
}

}  // namespace headroom
