#pragma once

#include <cstdint>

namespace headroom::test {

/// Of drawn cases every so manieth is tried. With -DHEADROOM_LONG_TESTS=ON all are.
#ifdef HEADROOM_LONG_TESTS
inline constexpr uint64_t kCaseStep = 1;
#else
inline constexpr uint64_t kCaseStep = 2;
#endif

}  // namespace headroom::test
