#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "decoder/base/checksum.h"
#include "decoder/cpu/loops/lanes.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

// Between fp32 and 16 bits. Included by loops.cpp alone.
namespace headroom::kernels {
namespace {

inline uint32_t bits_of(float value) {
  return __builtin_bit_cast(uint32_t, value);
}

void widen_bf16(const uint16_t* from, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = __builtin_bit_cast(float, static_cast<uint32_t>(from[i]) << 16);
}

void narrow_bf16(const float* from, uint16_t* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = bits_of(from[i]);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    to[i] = static_cast<uint16_t>(is_nan ? (bits >> 16 | 0x40) : rounded);
  }
}

/// Scalar conversions, for the remainders of the loops below and for processors without vector conversions.
inline float from_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu, sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  // At the smallest exponent a half has no implicit one: its value is the mantissa times 2^-24.
  const uint32_t subnormal = bits_of(static_cast<float>(magnitude) * 0x1p-24f);
  const uint32_t finite = magnitude < 0x0400u ? subnormal : (magnitude << 13) + (112u << 23);
  return __builtin_bit_cast(float, (magnitude >= 0x7c00u ? magnitude << 13 | 0x7f800000u : finite) | sign);
}

inline uint16_t to_half(float value) {
  const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65536 and more
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding a half lets the addition itself round to multiples of 2^-24.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bits_of(shifted) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | ((magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

void widen_fp16(const uint16_t* from, float* to, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
#endif
  for (; i < count; ++i) to[i] = from_half(from[i]);
}

void narrow_fp16(const float* from, uint16_t* to, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
#endif
  for (; i < count; ++i) to[i] = to_half(from[i]);
}

uint64_t checksum(const std::byte* groups, int64_t count, int64_t first) {
  constexpr uint32_t kPairs = kChecksumWords / 2;
  uint64_t sums[kPairs] = {};
  for (int64_t group = 0; group < count; ++group) {
    uint32_t words[kChecksumWords];
    std::memcpy(words, groups + group * kChecksumGroupBytes, sizeof(words));
    const auto number = static_cast<uint32_t>((first + group) * kChecksumWords);
    for (uint32_t i = 0; i < kPairs; ++i)
      sums[i] += checksum_of_pair(words[i], words[i + kPairs], number + i);
  }
  uint64_t sum = 0;
  for (const uint64_t one : sums) sum += one;
  return sum;
}

}  // namespace
}  // namespace headroom::kernels
