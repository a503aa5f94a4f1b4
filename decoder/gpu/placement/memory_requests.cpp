#include "decoder/gpu/placement/memory_requests.h"

#include <string>

#include "decoder/base/errors.h"

namespace headroom {

int64_t MemoryRequests::ask(int64_t bytes, const Series& series, bool movable) {
  if (count_ == kMost) {
    throw InputError("the plan makes more than " + std::to_string(kMost) +
                     " allocations; expected fewer, larger tiles on CUDA");
  }
  // Reserves space for the return as well, so that hand_back() never allocates.
  if (const auto most = static_cast<size_t>(2 * count_ + 2); events_.capacity() < most)
    events_.reserve(2 * most);
  events_.push_back({bytes, count_, series, movable});
  return count_++;
}

std::vector<Buffer> live_ranges_of(const MemoryRequests& requests) {
  std::vector<Buffer> ranges(static_cast<size_t>(requests.count()), {.end = kNeverReturned});
  for (size_t i = 0; i < requests.events().size(); ++i) {
    const MemoryRequests::Event& event = requests.events()[i];
    Buffer& range = ranges[static_cast<size_t>(event.number)];
    if (event.bytes > 0) {
      range.bytes = event.bytes;
      range.begin = static_cast<int64_t>(i);
    } else {
      range.end = static_cast<int64_t>(i);
    }
  }
  return ranges;
}

int64_t most_live_bytes(const MemoryRequests& requests, const std::vector<Buffer>& ranges) {
  int64_t live = 0, most = 0;
  for (const MemoryRequests::Event& event : requests.events())
    most = std::max(most,
                    live += event.bytes > 0 ? event.bytes : -ranges[static_cast<size_t>(event.number)].bytes);
  return most;
}

}  // namespace headroom
