#pragma once

#include <cstdint>

namespace headroom::test {

/// Stride between batches of random cases. -DHEADROOM_LONG_TESTS=ON runs every batch.
#ifdef HEADROOM_LONG_TESTS
inline constexpr uint64_t kCaseStep = 1;
#else
inline constexpr uint64_t kCaseStep = 2;
#endif

}  // namespace headroom::test
