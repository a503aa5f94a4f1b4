#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// For each request those that are live with it at some time. There may be many millions: they are listed
/// when they are first asked for, and counted without.
class Neighbours {
 public:
  /// The requests must outlive it.
  explicit Neighbours(const MemoryRequests& requests);

  std::span<const int32_t> of(size_t request) const {
    if (list_.empty()) list();
    return std::span<const int32_t>(list_).subspan(first_[request], first_[request + 1] - first_[request]);
  }
  int64_t count_of(size_t request) const {
    return static_cast<int64_t>(first_[request + 1] - first_[request]);
  }
  /// Of all requests together.
  int64_t count() const { return static_cast<int64_t>(first_.back()); }

 private:
  void list() const;

  const MemoryRequests& requests_;
  mutable std::vector<int32_t> list_;  ///< those of one request after another
  std::vector<size_t> first_;          ///< where those of each begin, and the end
};

}  // namespace headroom
