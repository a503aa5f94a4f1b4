#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// The live range of a request, in events.
struct LiveRange {
  int64_t bytes = 0;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();

  int64_t events(int64_t all) const { return std::min(end, all) - begin; }
  bool meets(const LiveRange& other) const { return begin < other.end && other.begin < end; }
};

/// By request. What is never handed back has no end.
std::vector<LiveRange> live_ranges_of(const MemoryRequests& requests);
/// What is live at one time at the most.
int64_t most_live_bytes(const MemoryRequests& requests, const std::vector<LiveRange>& ranges);
/// What is live after each event.
std::vector<int64_t> live_bytes_of(const MemoryRequests& requests, const std::vector<LiveRange>& ranges);

}  // namespace headroom
