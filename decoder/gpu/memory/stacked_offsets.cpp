#include "decoder/gpu/memory/stacked_offsets.h"

#include <algorithm>
#include <string>

#include "decoder/base/errors.h"

namespace headroom {

int64_t StackedOffsets::take(int64_t bytes) {
  const int64_t offset = live_.empty() ? 0 : live_.rbegin()->second;
  if (bytes > bytes_ - offset) {
    throw LimitExceeded(std::to_string(bytes) + " bytes requested at offset " + std::to_string(offset) +
                        " of a reservation of " + std::to_string(bytes_));
  }
  live_[offset] = offset + bytes;
  most_bytes_ = std::max(most_bytes_, offset + bytes);
  return offset;
}

void StackedOffsets::give_back(int64_t offset) noexcept {
  live_.erase(offset);
}

}  // namespace headroom
