#pragma once

#include <cstdint>

// Sanitizers slow searches and emulated kernels down about tenfold. A subset of the random cases is enough to
// find memory errors. The release build runs all cases.
namespace headroom::test {

#ifdef HEADROOM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Stride between seeds. Sanitizer builds run every eighth seed.
inline constexpr uint64_t kSeedStep = kSanitized ? 8 : 1;

/// True if the random cases had a feature more than `least` times. Sanitizer builds run too few cases to ask.
inline bool often(int64_t count, int64_t least) {
  return kSanitized || count > least;
}

}  // namespace headroom::test
