#include "decoder/gpu/live_range.h"

namespace headroom {

std::vector<LiveRange> live_ranges_of(const MemoryRequests& requests) {
  std::vector<LiveRange> ranges(static_cast<size_t>(requests.count()));
  for (size_t i = 0; i < requests.events().size(); ++i) {
    const MemoryRequests::Event& event = requests.events()[i];
    LiveRange& range = ranges[static_cast<size_t>(event.number)];
    if (event.bytes > 0) {
      range.bytes = event.bytes;
      range.begin = static_cast<int64_t>(i);
    } else {
      range.end = static_cast<int64_t>(i);
    }
  }
  return ranges;
}

std::vector<int64_t> live_bytes_of(const MemoryRequests& requests, const std::vector<LiveRange>& ranges) {
  std::vector<int64_t> live;
  live.reserve(requests.events().size());
  int64_t now = 0;
  for (const MemoryRequests::Event& event : requests.events()) {
    now += event.bytes > 0 ? event.bytes : -ranges[static_cast<size_t>(event.number)].bytes;
    live.push_back(now);
  }
  return live;
}

int64_t most_live_bytes(const MemoryRequests& requests, const std::vector<LiveRange>& ranges) {
  const std::vector<int64_t> live = live_bytes_of(requests, ranges);
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

}  // namespace headroom
