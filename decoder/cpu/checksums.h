#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

/// The checksum (decoder/base/checksum.h) of each stretch of memory, on all threads.
std::vector<uint64_t> checksums(const std::vector<std::span<const std::byte>>& stretches);

}  // namespace headroom
