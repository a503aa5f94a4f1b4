#include "decoder/gpu/neighbours.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headroom {

Neighbours::Neighbours(const MemoryRequests& requests)
    : first_(static_cast<size_t>(requests.count()) + 1, 0) {
  std::vector<int32_t> there;
  std::vector<std::pair<int32_t, int32_t>> pairs;  // who comes, and who was there
  for (const MemoryRequests::Event& event : requests.events()) {
    const auto number = static_cast<int32_t>(event.number);
    if (event.bytes == 0) {
      there.erase(std::find(there.begin(), there.end(), number));
      continue;
    }
    for (const int32_t other : there) {
      pairs.emplace_back(number, other);
      ++first_[static_cast<size_t>(number) + 1];
      ++first_[static_cast<size_t>(other) + 1];
    }
    there.push_back(number);
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  list_.resize(first_.back());
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (const auto& [a, b] : pairs) {
    list_[next[static_cast<size_t>(a)]++] = b;
    list_[next[static_cast<size_t>(b)]++] = a;
  }
}

}  // namespace headroom
