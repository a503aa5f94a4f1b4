#pragma once

#include <cstdint>

// Sanitizers make searches and emulated kernels some ten times as slow, and look for faults of memory, which
// a part of the drawn cases shows as well as all of them. The release build runs all.
namespace headroom::test {

#ifdef HEADROOM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// From one seed to the next: every eighth under sanitizers.
inline constexpr uint64_t kSeedStep = kSanitized ? 8 : 1;

}  // namespace headroom::test
