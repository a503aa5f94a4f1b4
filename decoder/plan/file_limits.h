#pragma once

#include <cstdint>

// What files of plans, of requests and of what a run took may hold at most: more is refused, and nothing is
// allocated for it.
namespace headroom {

constexpr int64_t kMostBytes = int64_t{1} << 60;
constexpr int64_t kMostPixels = int64_t{1} << 24;  ///< of a side
constexpr int32_t kMostRanks = 1024;

}  // namespace headroom
