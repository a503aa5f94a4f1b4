#pragma once

#include <cstdint>
#include <string_view>

namespace headroom {

constexpr uint64_t kFnvBasis = 14695981039346656037U;

/// FNV-1a of 64 bits, against accidents and not against forgery. `before` is the hash of the bytes before
/// these. Source: Fowler, Noll and Vo; RFC 9923.
inline uint64_t fnv_hash(std::string_view bytes, uint64_t before = kFnvBasis) {
  for (const char byte : bytes) before = (before ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return before;
}

}  // namespace headroom
