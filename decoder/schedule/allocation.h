#pragma once

#include <cstdint>

// Sizes of allocations in the CPU's pool. The pool allocates by these rules (decoder/cpu/limited_pool.cpp),
// and the planner counts by them.
namespace headroom::cpu {

constexpr int64_t kPageBytes = 4096;
/// Smaller allocations come from the heap, which serves them better than whole pages.
constexpr int64_t kSmallestPagedBytes = 4 * kPageBytes;
/// Size unit and alignment of allocations from the heap.
constexpr int64_t kAlignmentBytes = 64;

constexpr int64_t round_up(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
/// Whole pages, or multiples of 64 bytes for small allocations.
constexpr int64_t allocated_bytes(int64_t bytes) {
  return round_up(bytes, bytes < kSmallestPagedBytes ? kAlignmentBytes : kPageBytes);
}

}  // namespace headroom::cpu
