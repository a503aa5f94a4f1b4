#pragma once

#include <cstddef>
#include <vector>

#include "decoder/exchange/exchange.h"

namespace headroom {

/// Copies between device memory and host memory, for devices whose memory the host cannot access.
class HostCopies {
 public:
  virtual ~HostCopies() = default;
  /// Copies the spans to `to`, one behind the other, after all work queued on the device so far. Returns when
  /// the values are there.
  virtual void to_host(const std::vector<Span>& from, std::byte* to) = 0;
  /// Copies `from` to the spans. Later work on the device finds the values there. The caller may reuse `from`
  /// on return.
  virtual void to_device(const std::byte* from, const std::vector<Span>& to) = 0;
};

}  // namespace headroom
