#include "decoder/gpu/placement/buffers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

/// Most pairs of overlapping buffers. With more pairs even one first fit takes a second.
constexpr int64_t kMostPairs = 4'000'000;

/// Scanning all placed buffers in order takes less time than sorting the overlapping ones, if there is at
/// least one pair of overlapping buffers for so many pairs of any buffers.
constexpr int64_t kPairsScanned = 24;

using Key = std::pair<bool, double>;

/// Orders for first fit: by decreasing key; equal keys keep the order of the buffers.
const std::vector<Key (*)(const Buffer&)> kOrders{
    [](const Buffer& b) { return b.end - b.begin > 40 ? Key(true, b.end) : Key(false, b.bytes); },
    [](const Buffer& b) { return Key(true, b.end - b.begin); },
    [](const Buffer& b) { return Key(true, double(b.end - b.begin) * double(b.bytes)); },
    [](const Buffer& b) { return Key(true, b.bytes); },
    [](const Buffer& b) { return b.end - b.begin > 150 ? Key(true, -b.begin) : Key(false, b.bytes); },
};

template <typename Less>
std::vector<size_t> sorted(std::span<const Buffer> buffers, const Less& less) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return less(buffers[a], buffers[b]); });
  return order;
}

}  // namespace

int64_t most_live_bytes(std::span<const Buffer> buffers) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Buffer& buffer : buffers) {
    changes.emplace_back(buffer.begin, buffer.bytes);
    changes.emplace_back(buffer.end, -buffer.bytes);
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, most = 0;
  for (const auto& [at, bytes] : changes) most = std::max(most, live += bytes);
  return most;
}

/// False beyond kMostPairs.
bool BufferPlacement::find_overlaps() {
  Overlaps overlaps(buffers_.size());
  std::vector<int32_t> live;
  for (const size_t own :
       sorted(buffers_, [](const Buffer&a, const Buffer&b) { return a.begin < b.begin; })) {
    const auto is_gone = [&](int32_t other) {
      return buffers_[static_cast<size_t>(other)].end <= buffers_[own].begin;
    };
    std::erase_if(live, is_gone);
    if ((pairs_ += std::ssize(live)) > kMostPairs) return false;
    overlaps[own].reserve(2 * live.size());
    overlaps[own] = live;
    for (const int32_t other : live)
      overlaps[static_cast<size_t>(other)].push_back(static_cast<int32_t>(own));
    live.push_back(static_cast<int32_t>(own));
  }
  overlaps_ = std::move(overlaps);
  return true;
}

namespace {

/// Placed buffers, sorted by offset. Finds gaps quickly if many buffers overlap in time.
class PlacedInOrder {
 public:
  void insert(int64_t offset, const Buffer& buffer) {
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), offset) - offsets_.begin();
    offsets_.insert(offsets_.begin() + after, offset);
    ends_.insert(ends_.begin() + after, offset + buffer.bytes);
    live_begins_.insert(live_begins_.begin() + after, time_of(buffer.begin));
    live_ends_.insert(live_ends_.begin() + after, time_of(buffer.end));
  }
  int64_t lowest_gap(const Buffer& buffer) const {
    const int32_t begin = time_of(buffer.begin), end = time_of(buffer.end);
    int64_t offset = 0;
    for (size_t block = 0; block < offsets_.size(); block += kBlock) {
      const size_t count = std::min(kBlock, offsets_.size() - block);
      std::array<uint8_t, kBlock> meets{};
      for (size_t i = 0; i < count; ++i)  // compiled to vector instructions
        meets[i] = int(live_begins_[block + i] < end) & int(live_ends_[block + i] > begin);
      for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
        uint64_t some = 0;  // a byte for each of eight buffers, the first one lowest
        std::memcpy(&some, &meets[i], sizeof some);
        for (; some != 0; some &= some - 1) {
          const size_t other = block + i + static_cast<size_t>(std::countr_zero(some)) / 8;
          if (ends_[other] <= offset) continue;
          if (offsets_[other] - offset >= buffer.bytes) return offset;
          offset = ends_[other];
        }
      }
    }
    return offset;
  }

 private:
  static constexpr size_t kBlock = 64;
  /// There are fewer events, but a buffer may live forever.
  static int32_t time_of(int64_t event) {
    return static_cast<int32_t>(std::min<int64_t>(event, std::numeric_limits<int32_t>::max()));
  }
  std::vector<int64_t> offsets_, ends_;
  std::vector<int32_t> live_begins_, live_ends_;
};

constexpr int64_t kNowhere = -1;

/// Placed buffers by number, with the buffers that overlap each in time. Finds gaps quickly if these are few.
class PlacedByNumber {
 public:
  PlacedByNumber(std::span<const Buffer> buffers, const Overlaps& overlaps, std::span<const int64_t> offsets)
      : buffers_(buffers), overlaps_(overlaps), offsets_(offsets) {}

  int64_t lowest_gap(size_t own) {
    taken_.clear();
    for (const int32_t number : overlaps_[own]) {
      const auto other = static_cast<size_t>(number);
      const int64_t begin = offsets_[other];
      if (begin != kNowhere) taken_.push_back({begin, begin + buffers_[other].bytes});
    }
    std::sort(taken_.begin(), taken_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    int64_t offset = 0;
    for (const auto& [begin, end] : taken_) {
      if (begin - offset >= buffers_[own].bytes) break;
      offset = std::max(offset, end);
    }
    return offset;
  }

 private:
  struct Range {
    int64_t begin = 0, end = 0;
  };
  std::span<const Buffer> buffers_;
  const Overlaps& overlaps_;
  std::span<const int64_t> offsets_;
  std::vector<Range> taken_;
};

}  // namespace

/// Places buffers in the given order, each in the lowest gap. Stops once they exceed `capacity`.
BufferPlacement::FirstFit BufferPlacement::first_fit(size_t order, std::span<const int64_t> held,
                                                     int64_t capacity) const {
  FirstFit fit{0, true, {held.begin(), held.end()}};
  fit.offsets.resize(buffers_.size(), kNowhere);
  const bool in_order = pairs_ * kPairsScanned > std::ssize(buffers_) * std::ssize(buffers_);
  PlacedInOrder placed;
  PlacedByNumber by_number(buffers_, *overlaps_, fit.offsets);
  const auto place = [&](size_t own, int64_t offset) {
    fit.offsets[own] = offset;
    fit.bytes = std::max(fit.bytes, offset + buffers_[own].bytes);
    if (in_order) placed.insert(offset, buffers_[own]);
  };
  for (size_t i = 0; i < held.size(); ++i) place(i, held[i]);
  const auto key = kOrders[order];
  for (const size_t own : sorted(buffers_, [&](const Buffer&a, const Buffer&b) { return key(a) > key(b); })) {
    if (own < held.size()) continue;
    if (fit.bytes > capacity) {
      fit.is_complete = false;
      break;
    }
    place(own, in_order ? placed.lowest_gap(buffers_[own]) : by_number.lowest_gap(own));
  }
  return fit;
}

std::optional<std::vector<int64_t>> BufferPlacement::in(int64_t capacity, int64_t most_visits) {
  if (!overlaps_ && !find_overlaps()) return std::nullopt;
  for (size_t order = 0; order < kOrders.size(); ++order, most_visits -= pairs_) {
    if (most_visits <= 0) return std::nullopt;
    if (order == first_fits_.size()) first_fits_.emplace_back();
    FirstFit& fit = first_fits_[order];
    if (!fit.is_complete && fit.bytes <= capacity) fit = first_fit(order, {}, capacity);
    if (fit.bytes <= capacity) return fit.offsets;
  }
  return bounded_search(buffers_, *overlaps_, capacity, most_visits);
}

std::optional<std::vector<int64_t>> BufferPlacement::around(std::span<const int64_t> held, int64_t capacity) {
  if (!overlaps_ && !find_overlaps()) return std::nullopt;
  for (size_t order = 0; order < kOrders.size(); ++order) {
    FirstFit fit = first_fit(order, held, capacity);
    if (fit.bytes <= capacity) return std::move(fit.offsets);
  }
  return std::nullopt;
}

}  // namespace headroom
