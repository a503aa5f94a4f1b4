#pragma once

#include <cstdint>

// Largest numbers that files of plans, requests and run statistics may contain. Readers reject larger ones
// before they allocate anything for them.
namespace headroom {

constexpr int64_t kMostBytes = int64_t{1} << 60;
constexpr int64_t kMostPixels = int64_t{1} << 24;  ///< per side
constexpr int32_t kMostRanks = 1024;

}  // namespace headroom
