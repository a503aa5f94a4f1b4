#include "decoder/gpu/placement/best_fit.h"

#include <algorithm>

namespace headroom {
namespace {

struct Taken {
  int64_t begin = 0, end = 0;
};

/// Live requests in a reservation of a given size, sorted by offset.
class LiveRequests {
 public:
  explicit LiveRequests(int64_t bytes) : bytes_(bytes) {}

  /// Offset of the smallest gap of at least `bytes`; ties go to the lowest offset.
  std::optional<int64_t> smallest_gap(int64_t bytes) const {
    std::optional<int64_t> offset;
    int64_t smallest = bytes_ + 1, end = 0;
    const auto look_at = [&](int64_t gap) {
      if (gap < bytes || gap >= smallest) return;
      smallest = gap;
      offset = end;
    };
    for (const Taken& taken : live_) {
      look_at(taken.begin - end);
      end = taken.end;
    }
    look_at(bytes_ - end);
    return offset;
  }
  bool is_free(int64_t offset, int64_t bytes) const {
    const auto after = first_from(offset);
    return offset + bytes <= (after == live_.end() ? bytes_ : after->begin) &&
           (after == live_.begin() || (after - 1)->end <= offset);
  }
  void take(int64_t offset, int64_t bytes) { live_.insert(first_from(offset), {offset, offset + bytes}); }
  void give_back(int64_t offset) { live_.erase(first_from(offset)); }

 private:
  std::vector<Taken>::const_iterator first_from(int64_t offset) const {
    return std::lower_bound(live_.begin(), live_.end(), offset,
                            [](const Taken& taken, int64_t begin) { return taken.begin < begin; });
  }

  const int64_t bytes_;
  std::vector<Taken> live_;
};

/// `together`: the first request of a series looks for a gap that holds the whole series, and the others
/// follow it there.
std::optional<std::vector<int64_t>> fit(const PassRequests& pass, std::span<const int64_t> held,
                                        int64_t bytes, bool together) {
  std::vector<int64_t> offsets(pass.buffers.size());
  LiveRequests live(bytes);
  const auto offset_for = [&](size_t number) -> std::optional<int64_t> {
    const int64_t own_bytes = pass.buffers[number].bytes;
    if (number < held.size())
      return live.is_free(held[number], own_bytes) ? std::optional(held[number]) : std::nullopt;
    const auto [before, bytes_after] = pass.series[number];
    if (together && before >= 0) {
      const auto other = static_cast<size_t>(before);
      const int64_t behind = offsets[other] + pass.buffers[other].bytes;
      if (live.is_free(behind, own_bytes)) return behind;
    }
    if (together && bytes_after > 0) {
      if (const auto offset = live.smallest_gap(own_bytes + bytes_after)) return offset;
    }
    return live.smallest_gap(own_bytes);
  };
  for (const int64_t event : pass.events) {
    const auto number = static_cast<size_t>(event < 0 ? ~event : event);
    if (event < 0) {
      live.give_back(offsets[number]);
      continue;
    }
    const std::optional<int64_t> offset = offset_for(number);
    if (!offset) return std::nullopt;
    live.take(offsets[number] = *offset, pass.buffers[number].bytes);
  }
  return offsets;
}

}  // namespace

std::optional<std::vector<int64_t>> best_fit(const PassRequests& pass, std::span<const int64_t> held,
                                             int64_t bytes) {
  auto found = fit(pass, held, bytes, true);
  return found ? found : fit(pass, held, bytes, false);
}

}  // namespace headroom
