#include "decoder/runtime/gpu_memory.h"

#include <string>
#include <unordered_map>

#include "decoder/graph/errors.h"

namespace headroom {

std::shared_ptr<void> GpuMemory::allocate(int64_t bytes, Arena::End end) {
  const int64_t offset = arena_.allocate(bytes, end);
  if (offset < 0) {
    throw LimitExceeded("asked for " + std::to_string(bytes) + " bytes beside " +
                        std::to_string(arena_.live_bytes()) + " live ones of " +
                        std::to_string(arena_.bytes()) + " reserved, limit " + std::to_string(limit_bytes_));
  }
  const int64_t number = requests_++;
  if (asked_) asked_->push_back({bytes, end, number});
  window_peak_bytes_ = std::max(window_peak_bytes_, arena_.live_bytes());
  return {base_ + offset, [own = shared_from_this(), offset, number](void*) { own->freed(offset, number); }};
}

void GpuMemory::freed(int64_t offset, int64_t number) {
  arena_.free(offset);
  if (asked_) asked_->push_back({0, Arena::End::low, number});
}

bool GpuMemory::fits(int64_t bytes) const {
  Arena arena(bytes);
  std::unordered_map<int64_t, int64_t> places;
  for (const Asked& asked : *asked_) {
    if (asked.bytes == 0) {
      arena.free(places.at(asked.number));
      continue;
    }
    const int64_t offset = arena.allocate(asked.bytes, asked.end);
    if (offset < 0) return false;
    places[asked.number] = offset;
  }
  return true;
}

std::optional<int64_t> GpuMemory::reservation_bytes(int64_t limit_bytes) const {
  constexpr int64_t kSteps = 256;  // a step is what may be taken in vain: 0.4 %
  const int64_t peak = arena_.peak_bytes(), step = peak / kSteps + Arena::kUnit;
  for (int64_t bytes = peak; bytes < limit_bytes && bytes < 2 * peak + step; bytes += step) {
    if (fits(bytes)) return bytes;
  }
  return fits(limit_bytes) ? std::optional(limit_bytes) : std::nullopt;
}

}  // namespace headroom
