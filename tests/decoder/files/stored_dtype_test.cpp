#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "decoder/files/stored_dtype.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

float convert_one(StoredDtype dtype, uint16_t bits) {
  float out = 0;
  convert_to_float(dtype, reinterpret_cast<const std::byte*>(&bits), 1, &out);
  return out;
}

/// IEEE 754 half precision from its definition.
double half_by_definition(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST_CASE("known half and bfloat patterns") {
  CHECK(convert_one(StoredDtype::f16, 0x3c00) == 1.0f);
  CHECK(convert_one(StoredDtype::f16, 0xc000) == -2.0f);
  CHECK(convert_one(StoredDtype::f16, 0x7bff) == 65504.0f);
  CHECK(convert_one(StoredDtype::f16, 0x0001) == 0x1p-24f);
  CHECK(convert_one(StoredDtype::f16, 0x03ff) == 1023 * 0x1p-24f);
  CHECK(convert_one(StoredDtype::f16, 0xfc00) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(convert_one(StoredDtype::f16, 0x7e00)));
  CHECK(std::signbit(convert_one(StoredDtype::f16, 0x8000)));
  CHECK(convert_one(StoredDtype::bf16, 0x3f80) == 1.0f);
  CHECK(convert_one(StoredDtype::bf16, 0xc049) == -3.140625f);
  CHECK(convert_one(StoredDtype::bf16, 0x0001) == 0x1p-133f);
  CHECK(convert_one(StoredDtype::bf16, 0x7f80) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(convert_one(StoredDtype::bf16, 0x7fc0)));
}

TEST_CASE("every half pattern converts as defined") {
  std::vector<uint16_t> patterns;
  for (int bits = 0; bits < 65536; ++bits) patterns.push_back(static_cast<uint16_t>(bits));
  std::vector<float> out(patterns.size());
  convert_to_float(StoredDtype::f16, reinterpret_cast<const std::byte*>(patterns.data()), 65536, out.data());
  int wrong = 0;
  for (const uint16_t bits : patterns) {
    const double expected = half_by_definition(bits);
    const bool same = std::isnan(expected)
                          ? std::isnan(out[bits])
                          : out[bits] == expected && std::signbit(out[bits]) == (bits >> 15 != 0);
    wrong += same ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("data need not be aligned") {
  const std::string bytes = "x" + test::bytes_of<uint16_t>({0x3c00, 0x4000});
  float out[2];
  convert_to_float(StoredDtype::f16, reinterpret_cast<const std::byte*>(bytes.data() + 1), 2, out);
  CHECK(out[0] == 1.0f);
  CHECK(out[1] == 2.0f);
}

TEST_CASE("the first value that is not finite is found") {
  std::vector<float> values(10000, 1.0f);
  CHECK(first_non_finite(values.data(), 10000) == -1);
  CHECK(first_non_finite(values.data(), 0) == -1);
  values[9999] = -std::numeric_limits<float>::infinity();
  CHECK(first_non_finite(values.data(), 10000) == 9999);
  values[4097] = std::nanf("");
  CHECK(first_non_finite(values.data(), 10000) == 4097);
}

}  // namespace
}  // namespace headroom
