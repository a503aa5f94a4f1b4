#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "decoder/base/checksum.h"

// Included by loops.cpp alone.
namespace headroom::kernels {
namespace {

uint64_t checksum(const std::byte* groups, int64_t count, int64_t first) {
  constexpr uint32_t kPairs = kChecksumWords / 2;
  uint64_t sums[kPairs] = {};
  for (int64_t group = 0; group < count; ++group) {
    uint32_t words[kChecksumWords];
    std::memcpy(words, groups + group * kChecksumGroupBytes, sizeof(words));
    const auto number = static_cast<uint32_t>((first + group) * kChecksumWords);
    for (uint32_t i = 0; i < kPairs; ++i)
      sums[i] += checksum_of_pair(words[i], words[i + kPairs], number + i);
  }
  uint64_t sum = 0;
  for (const uint64_t one : sums) sum += one;
  return sum;
}

}  // namespace
}  // namespace headroom::kernels
