#pragma once

#include <cstddef>
#include <vector>

#include "decoder/exchange/exchange.h"

namespace headroom {

/// Copies between the memory of a device and the host's, where the host cannot read the device's by itself.
class HostCopies {
 public:
  virtual ~HostCopies() = default;
  /// What all that was asked of the device leaves in these spans, one behind the other. Returns when it is
  /// there.
  virtual void to_host(const std::vector<Span>& from, std::byte* to) = 0;
  /// The other way. What the device is asked for afterwards finds it there; `from` is free again at once.
  virtual void to_device(const std::byte* from, const std::vector<Span>& to) = 0;
};

}  // namespace headroom
