#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace headroom {

/// Sorts by `key`, an unsigned number of at most `most_key`, digit by digit from the lowest. Placing requests
/// sorts some hundred offsets a million times over, and comparing those means guessing wrong half of the
/// time. `spare` is memory that the next call finds again.
template <typename T, typename Key>
void radix_sort(std::vector<T>& list, std::vector<T>& spare, uint64_t most_key, const Key& key) {
  constexpr int kDigitBits = 8;
  constexpr size_t kFew = 48;  // with fewer, counting takes longer than comparing
  if (list.size() < kFew) {
    std::sort(list.begin(), list.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
    return;
  }
  spare.resize(list.size());
  const auto bits = static_cast<int>(std::bit_width(most_key));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    std::array<uint32_t, size_t{1} << kDigitBits> next{};
    const auto digit = [&](const T& item) { return key(item) >> shift & (next.size() - 1); };
    for (const T& item : list) ++next[digit(item)];
    uint32_t before = 0;
    for (uint32_t& count : next) before += std::exchange(count, before);
    for (const T& item : list) spare[next[digit(item)]++] = item;
    list.swap(spare);
  }
}

}  // namespace headroom
