#pragma once

#include <cstdint>
#include <cstring>

// Values of 16 and 32 bits in the formats of cuDNN and cuBLASLt.
namespace headroom::air {

enum class ValueType { fp32, fp16, bf16 };

inline int64_t value_bytes(ValueType type) {
  return type == ValueType::fp32 ? 4 : 2;
}

inline float load_value(const void* from, ValueType type, int64_t index) {
  if (type == ValueType::fp32) return static_cast<const float*>(from)[index];
  const uint16_t bits = static_cast<const uint16_t*>(from)[index];
  float value = 0;
  if (type == ValueType::bf16) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    std::memcpy(&value, &wide, sizeof value);
  } else {
    _Float16 half{};
    std::memcpy(&half, &bits, sizeof half);
    value = static_cast<float>(half);
  }
  return value;
}

/// Rounds to TF32, which has 10 bits of mantissa: to nearest, ties away from zero.
inline float rounded_to_tf32(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7f800000) != 0x7f800000) bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Rounds to nearest, ties to even.
inline void store_value(void* to, ValueType type, int64_t index, float value) {
  if (type == ValueType::fp32) {
    static_cast<float*>(to)[index] = value;
    return;
  }
  uint16_t bits = 0;
  if (type == ValueType::bf16) {
    uint32_t wide = 0;
    std::memcpy(&wide, &value, sizeof wide);
    bits = value != value ? 0x7fff : static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  } else {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(&bits, &half, sizeof bits);
  }
  static_cast<uint16_t*>(to)[index] = bits;
}

}  // namespace headroom::air
