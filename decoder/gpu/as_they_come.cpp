#include "decoder/gpu/as_they_come.h"

#include <algorithm>
#include <limits>

#include "decoder/gpu/free_space.h"

namespace headroom {

Placement place_as_they_come(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                             bool together, std::span<const int64_t> held) {
  Placement placement{0, 0, std::vector<int64_t>(ranges.size()), {}};
  FreeSpace space(std::numeric_limits<int64_t>::max() / 2);  // as much as anything takes
  const auto take = [&](const MemoryRequests::Event& event) {
    if (event.number < std::ssize(held))
      return space.take_at(held[static_cast<size_t>(event.number)], event.bytes).value();
    const auto& [before, bytes_after] = event.series;
    if (before >= 0) {
      const auto number = static_cast<size_t>(before);
      const int64_t behind = placement.offsets[number] + ranges[number].bytes;
      if (const auto offset = space.take_at(behind, event.bytes)) return *offset;
    }
    return space.take_smallest(event.bytes, event.bytes + (together ? bytes_after : 0)).value();
  };
  for (const MemoryRequests::Event& event : requests.events()) {
    int64_t& offset = placement.offsets[static_cast<size_t>(event.number)];
    if (event.bytes == 0) {
      space.give_back(offset, ranges[static_cast<size_t>(event.number)].bytes);
      continue;
    }
    offset = take(event);
    placement.bytes = std::max(placement.bytes, offset + event.bytes);
  }
  return placement;
}

}  // namespace headroom
