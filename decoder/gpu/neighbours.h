#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// For each request those that are live with it at some time.
class Neighbours {
 public:
  explicit Neighbours(const MemoryRequests& requests);

  std::span<const int32_t> of(size_t request) const {
    return std::span(list_).subspan(first_[request], first_[request + 1] - first_[request]);
  }
  /// Of all requests together.
  int64_t count() const { return std::ssize(list_); }

 private:
  std::vector<int32_t> list_;  ///< those of one request after another
  std::vector<size_t> first_;  ///< where those of each begin, and the end
};

}  // namespace headroom
