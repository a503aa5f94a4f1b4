#include "decoder/gpu/memory_requests.h"

#include <string>

#include "decoder/graph/errors.h"

namespace headroom {

void MemoryRequests::check_count(int64_t count) {
  if (count <= kMost) return;
  throw InputError("the plan asks for memory more than " + std::to_string(kMost) +
                   " times; expected fewer, larger tiles on CUDA");
}

int64_t MemoryRequests::ask(int64_t bytes, const Series& series, bool movable) {
  check_count(count_ + 1);
  // Handing back never takes memory.
  if (const auto most = static_cast<size_t>(2 * count_ + 2); events_.capacity() < most)
    events_.reserve(2 * most);
  events_.push_back({bytes, count_, series, movable});
  return count_++;
}

}  // namespace headroom
