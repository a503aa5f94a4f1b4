#pragma once

#include <cstdint>

namespace headroom::test {

/// From one batch of drawn cases to the next that is tried. With -DHEADROOM_LONG_TESTS=ON all are.
#ifdef HEADROOM_LONG_TESTS
inline constexpr uint64_t kCaseStep = 1;
#else
inline constexpr uint64_t kCaseStep = 2;
#endif

}  // namespace headroom::test
