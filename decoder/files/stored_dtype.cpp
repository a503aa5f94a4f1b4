#include "decoder/files/stored_dtype.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace headroom {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read as they lie");

constexpr uint32_t kExponent = 0x7f800000;
constexpr int64_t kChunkBytes = 256 * 1024;

/// Branch-free, so that the loop around it vectorises.
float float_from_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t rebiased = (magnitude << 13) + ((127u - 15u) << 23);
  // fp16 numbers with exponent 0 are subnormal: the value is the mantissa times 2^-24.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t special = (magnitude << 13) | kExponent;
  const uint32_t finite = magnitude < 0x0400u ? subnormal : rebiased;
  return std::bit_cast<float>((magnitude >= 0x7c00u ? special : finite) | sign);
}

float float_from_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// C++ leaves the conversion of doubles beyond fp32's range undefined.
float float_from_double(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const float infinity = std::numeric_limits<float>::infinity();
  if (value > kMost) return infinity;
  if (value < -kMost) return -infinity;
  return static_cast<float>(value);
}

template <typename F>
void convert_16_bits(const std::byte* source, int64_t count, float* out, F convert) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, source + 2 * i, sizeof bits);
    out[i] = convert(bits);
  }
}

bool is_finite(float value) {
  return (std::bit_cast<uint32_t>(value) & kExponent) != kExponent;
}

}  // namespace

StoredDtype parse_stored_dtype(const std::string& name) {
  if (name == "F32") return StoredDtype::f32;
  if (name == "F16") return StoredDtype::f16;
  if (name == "BF16") return StoredDtype::bf16;
  return StoredDtype::other;
}

int64_t stored_element_bytes(const std::string& name) {
  static constexpr std::pair<const char*, int64_t> kKnown[] = {
      {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8},  {"U64", 8},     {"I32", 4},    {"U32", 4},
      {"I16", 2}, {"U16", 2}, {"I8", 1},   {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (const auto& [known, bytes] : kKnown) {
    if (name == known) return bytes;
  }
  return 0;
}

int64_t stored_element_bytes(StoredDtype dtype) {
  switch (dtype) {
    case StoredDtype::f32:
      return 4;
    case StoredDtype::f16:
    case StoredDtype::bf16:
      return 2;
    case StoredDtype::f64:
      return 8;
    case StoredDtype::other:
      break;
  }
  throw std::logic_error("stored_element_bytes: this dtype is not read");
}

void convert_to_float(StoredDtype dtype, const std::byte* source, int64_t count, float* out) {
  switch (dtype) {
    case StoredDtype::f32:
      if (count > 0) std::memcpy(out, source, static_cast<size_t>(count) * sizeof(float));
      return;
    case StoredDtype::f16:
      return convert_16_bits(source, count, out, float_from_half);
    case StoredDtype::bf16:
      return convert_16_bits(source, count, out, float_from_bfloat);
    case StoredDtype::f64:
      for (int64_t i = 0; i < count; ++i) {
        double value;
        std::memcpy(&value, source + 8 * i, sizeof value);
        out[i] = float_from_double(value);
      }
      return;
    case StoredDtype::other:
      break;
  }
  throw std::logic_error("convert_to_float: this dtype is not read");
}

void read_as_float(const ReadOnlyFile& file, int64_t offset, StoredDtype dtype, int64_t count, float* out) {
  const int64_t element_bytes = stored_element_bytes(dtype);
  if (dtype == StoredDtype::f32) return file.read_at(offset, out, count * element_bytes);
  const int64_t step = kChunkBytes / element_bytes;
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(step, count) * element_bytes));
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t elements = std::min(step, count - begin);
    file.read_at(offset + begin * element_bytes, chunk.data(), elements * element_bytes);
    convert_to_float(dtype, chunk.data(), elements, out + begin);
  }
}

int64_t first_non_finite(const float* values, int64_t count) {
  constexpr int64_t kBlock = 4096;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    // Counting over a whole block vectorises. An early exit would not.
    int32_t bad = 0;
    for (int64_t i = begin; i < end; ++i) bad += is_finite(values[i]) ? 0 : 1;
    if (bad == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      if (!is_finite(values[i])) return i;
    }
  }
  return -1;
}

}  // namespace headroom
