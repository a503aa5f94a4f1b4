#include "decoder/gpu/rolling_offsets.h"

#include <algorithm>
#include <numeric>

#include "decoder/gpu/free_space.h"

namespace headroom {
namespace {

/// By request: whether it is handed back in the scope in which it comes, as tiles are.
std::vector<bool> inner_ones(const MemoryRequests& requests, const std::vector<LiveRange>& ranges) {
  std::vector<bool> inner;
  const std::vector<size_t>& scopes = requests.scopes();
  for (const LiveRange& range : ranges) {
    const auto next = std::upper_bound(scopes.begin(), scopes.end(), static_cast<size_t>(range.begin));
    const int64_t end = next == scopes.end() ? std::ssize(requests.events()) : static_cast<int64_t>(*next);
    inner.push_back(next != scopes.begin() && range.end < end);
  }
  return inner;
}

}  // namespace

std::vector<int64_t> stacked_by_end(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                                    const std::vector<int64_t>& offsets) {
  std::vector<size_t> last_to_go_first(offsets.size());
  std::iota(last_to_go_first.begin(), last_to_go_first.end(), size_t{0});
  const std::vector<size_t>& scopes = requests.scopes();
  const auto scope_of_end = [&](size_t number) -> std::ptrdiff_t {
    if (ranges[number].end > std::ssize(requests.events())) return std::ssize(scopes) + 1;  // it stays
    return std::upper_bound(scopes.begin(), scopes.end(), static_cast<size_t>(ranges[number].end)) -
           scopes.begin();
  };
  std::stable_sort(last_to_go_first.begin(), last_to_go_first.end(), [&](size_t a, size_t b) {
    const auto key = [&](size_t number) { return std::pair(-scope_of_end(number), offsets[number]); };
    return key(a) < key(b);
  });
  std::vector<int64_t> stacked(offsets.size());
  int64_t end = 0;
  for (const size_t number : last_to_go_first) {
    stacked[number] = end;
    end += ranges[number].bytes;
  }
  return stacked;
}

std::optional<Placement> place_rolling(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                                       const std::vector<int64_t>& held, int64_t bytes) {
  Placement placement{bytes, 0, std::vector<int64_t>(ranges.size()), {}};
  FreeSpace space(bytes);
  const auto place = [&](size_t number, std::optional<int64_t> offset) {
    if (offset) placement.offsets[number] = *offset;
    return offset.has_value();
  };
  const std::vector<bool> inner = inner_ones(requests, ranges);
  for (const MemoryRequests::Event& event : requests.events()) {
    const auto number = static_cast<size_t>(event.number);
    if (event.bytes == 0) {
      space.give_back(placement.offsets[number], ranges[number].bytes);
      continue;
    }
    if (number < held.size()) {
      if (!place(number, space.take_at(held[number], event.bytes))) return std::nullopt;
      continue;
    }
    const auto& [before, bytes_after] = event.series;
    if (before >= 0 && !inner[number]) {
      const auto other = static_cast<size_t>(before);
      if (place(number, space.take_at(placement.offsets[other] + ranges[other].bytes, event.bytes))) continue;
    }
    const bool placed = inner[number]
                            ? place(number, space.take_lowest(event.bytes))
                            : place(number, space.take_highest(event.bytes, event.bytes + bytes_after)) ||
                                  place(number, space.take_highest(event.bytes, event.bytes));
    if (!placed) return std::nullopt;
  }
  return placement;
}

}  // namespace headroom
