#pragma once

#include <cstdint>

#include "decoder/base/also_on_gpu.h"

namespace headroom {

// A checksum that detects changed memory (NH, of Black et al., UMAC, 1999). It adds a key to each 32-bit
// word, which depends on the word's position. Then it multiplies words in pairs and sums the products. A
// change of one word goes unnoticed with a probability of 2^-32. Partial sums add up in any order, so CPU and
// GPU agree.

/// Words of a group. The first half are multiplied by the second half.
constexpr int kChecksumWords = 32;
constexpr int kChecksumGroupBytes = 4 * kChecksumWords;

/// `word` counts from the beginning of the memory.
HEADROOM_ALSO_ON_GPU inline uint32_t checksum_key(uint32_t word) {
  uint32_t key = word * 0x9e3779b1u + 0x7f4a7c15u;
  key ^= key >> 15;
  key *= 0x85ebca77u;
  return key ^ key >> 13;
}

/// Product of two words of a group. `number` is the position of `first`; `second` lies half a group further.
HEADROOM_ALSO_ON_GPU inline uint64_t checksum_of_pair(uint32_t first, uint32_t second, uint32_t number) {
  const uint32_t a = first + checksum_key(number), b = second + checksum_key(number + kChecksumWords / 2);
  return static_cast<uint64_t>(a) * b;
}

}  // namespace headroom
