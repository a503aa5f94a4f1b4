#include "decoder/gpu/neighbours.h"

#include <algorithm>
#include <numeric>

namespace headroom {
namespace {

/// Calls f(who comes, who is there) for all that are there at the same time.
template <typename F>
void for_each_pair(const MemoryRequests& requests, const F& f) {
  std::vector<int32_t> there;
  for (const MemoryRequests::Event& event : requests.events()) {
    const auto number = static_cast<int32_t>(event.number);
    if (event.bytes == 0) {
      there.erase(std::find(there.begin(), there.end(), number));
      continue;
    }
    for (const int32_t other : there) f(number, other);
    there.push_back(number);
  }
}

}  // namespace

Neighbours::Neighbours(const MemoryRequests& requests)
    : requests_(requests), first_(static_cast<size_t>(requests.count()) + 1, 0) {
  // Neighbours of a request are those that are there when it comes, and those that come until it goes.
  std::vector<size_t> come_before(first_.size() - 1);
  std::vector<bool> stays(first_.size() - 1, false);
  size_t come = 0, there = 0;
  const auto goes = [&](size_t number) { first_[number + 1] += come - come_before[number] - 1; };
  for (const MemoryRequests::Event& event : requests.events()) {
    const auto number = static_cast<size_t>(event.number);
    stays[number] = event.bytes > 0;
    if (event.bytes == 0) {
      goes(number);
      --there;
      continue;
    }
    come_before[number] = come++;
    first_[number + 1] = there++;
  }
  for (size_t number = 0; number < stays.size(); ++number) {
    if (stays[number]) goes(number);
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

void Neighbours::list() const {
  list_.resize(first_.back());
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for_each_pair(requests_, [&](int32_t a, int32_t b) {
    list_[next[static_cast<size_t>(a)]++] = b;
    list_[next[static_cast<size_t>(b)]++] = a;
  });
}

}  // namespace headroom
