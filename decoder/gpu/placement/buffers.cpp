#include "decoder/gpu/placement/buffers.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

/// Most pairs of overlapping buffers. With more pairs even one first fit takes a second.
constexpr int64_t kMostPairs = 4'000'000;

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

/// Places buffers in the given order, each in the lowest gap.
BufferPlacement::FirstFit BufferPlacement::first_fit(size_t order, std::span<const int64_t> held) const {
  constexpr int64_t kNowhere = -1;
  FirstFit fit{0, {held.begin(), held.end()}};
  fit.offsets.resize(buffers_.size(), kNowhere);
  for (size_t i = 0; i < held.size(); ++i) fit.bytes = std::max(fit.bytes, held[i] + buffers_[i].bytes);
  struct Taken {
    int64_t begin = 0, end = 0;
  };
  std::vector<Taken> taken;
  const auto key = kOrders[order];
  for (const size_t own : sorted(buffers_, [&](const Buffer&a, const Buffer&b) { return key(a) > key(b); })) {
    if (own < held.size()) continue;
    taken.clear();
    for (const int32_t number : (*overlaps_)[own]) {
      const auto other = static_cast<size_t>(number);
      const int64_t begin = fit.offsets[other];
      if (begin != kNowhere) taken.push_back({begin, begin + buffers_[other].bytes});
    }
    std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= buffers_[own].bytes) break;
      offset = std::max(offset, end);
    }
    fit.offsets[own] = offset;
    fit.bytes = std::max(fit.bytes, offset + buffers_[own].bytes);
  }
  return fit;
}

std::optional<std::vector<int64_t>> BufferPlacement::in(int64_t capacity, int64_t most_visits) {
  if (!overlaps_ && !find_overlaps()) return std::nullopt;
  for (size_t order = 0; order < kOrders.size(); ++order, most_visits -= pairs_) {
    if (most_visits <= 0) return std::nullopt;
    if (order == first_fits_.size()) first_fits_.push_back(first_fit(order, {}));
    if (first_fits_[order].bytes <= capacity) return first_fits_[order].offsets;
  }
  return bounded_search(buffers_, *overlaps_, capacity, most_visits);
}

std::optional<std::vector<int64_t>> BufferPlacement::around(std::span<const int64_t> held, int64_t capacity) {
  if (!overlaps_ && !find_overlaps()) return std::nullopt;
  for (size_t order = 0; order < kOrders.size(); ++order) {
    FirstFit fit = first_fit(order, held);
    if (fit.bytes <= capacity) return std::move(fit.offsets);
  }
  return std::nullopt;
}

}  // namespace headroom
