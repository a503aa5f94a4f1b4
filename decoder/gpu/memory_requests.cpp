#include "decoder/gpu/memory_requests.h"

#include <string>

#include "decoder/graph/errors.h"

namespace headroom {

int64_t MemoryRequests::ask(int64_t bytes, const Series& series, bool movable) {
  if (count_ == kMost) {
    throw InputError("the plan asks for memory more than " + std::to_string(kMost) +
                     " times; expected fewer, larger tiles on CUDA");
  }
  // Handing back never takes memory.
  if (const auto most = static_cast<size_t>(2 * count_ + 2); events_.capacity() < most)
    events_.reserve(2 * most);
  events_.push_back({bytes, count_, series, movable});
  return count_++;
}

}  // namespace headroom
