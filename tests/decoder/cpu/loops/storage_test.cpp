#include "decoder/cpu/loops/storage.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "decoder/cpu/loops/loops.h"
#include "tests/support/random.h"

namespace headroom::kernels {
namespace {

/// The value of 16 bits, worked out from sign, exponent and mantissa.
double value_of(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

using Widen = void (*)(const uint16_t*, float*, int64_t);
using Narrow = void (*)(const float*, uint16_t*, int64_t);

void check_format(Widen widen_all, Narrow narrow_all, int exponent_bits, int mantissa_bits) {
  std::vector<uint16_t> all(1 << 16), back(all.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(all.size());
  widen_all(all.data(), wide.data(), int64_t(all.size()));
  narrow_all(wide.data(), back.data(), int64_t(all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    const double expected = value_of(all[i], exponent_bits, mantissa_bits);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(wide[i]));
      REQUIRE(std::isnan(value_of(back[i], exponent_bits, mantissa_bits)));
    } else {
      REQUIRE(double(wide[i]) == expected);
      REQUIRE(back[i] == all[i]);
    }
  }
  // Between neighbours the nearer one is taken, and in the middle the one whose last bit is 0.
  test::Random random(5);
  const uint16_t largest = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits) - 1;
  for (int i = 0; i < 20'000; ++i) {
    const auto low = static_cast<uint16_t>(random.integer(0, largest - 1));
    const double a = value_of(low, exponent_bits, mantissa_bits),
                 b = value_of(static_cast<uint16_t>(low + 1), exponent_bits, mantissa_bits);
    const double share = random.pick<double>({0.25, 0.5, 0.75, random.uniform(0, 1)});
    const auto between = static_cast<float>(a + (b - a) * share);
    uint16_t found;
    narrow_all(&between, &found, 1);
    const double to_a = double(between) - a, to_b = b - double(between);
    const uint16_t expected =
        to_a < to_b || (to_a == to_b && low % 2 == 0) ? low : static_cast<uint16_t>(low + 1);
    CAPTURE(low, between);
    REQUIRE(found == expected);
    const float negative = -between;
    narrow_all(&negative, &found, 1);
    REQUIRE(found == (expected | 0x8000));
  }
}

TEST_CASE(
    "all 65536 patterns of bf16 and fp16 widen exactly, and fp32 narrows to the nearest, ties to even") {
  for (const auto& [name, loops] : loops_that_run()) {
    CAPTURE(name);
    check_format(loops->widen_bf16, loops->narrow_bf16, 8, 7);
    check_format(loops->widen_fp16, loops->narrow_fp16, 5, 10);
  }
}

TEST_CASE("beyond what fp16 holds is infinite, and rounding is storing and reading back") {
  const std::vector<float> values{65519.9f, 65520.0f, -1e6f, 1.0f + 0x1p-12f, 0x1p-26f, 3e38f};
  std::vector<float> rounded = values;
  round_to(Dtype::fp16, rounded.data(), int64_t(values.size()));
  CHECK(rounded == std::vector<float>{65504.0f, std::numeric_limits<float>::infinity(),
                                      -std::numeric_limits<float>::infinity(), 1.0f, 0.0f,
                                      std::numeric_limits<float>::infinity()});
  std::vector<float> untouched = values;
  round_to(Dtype::fp32, untouched.data(), int64_t(values.size()));
  CHECK(untouched == values);
}

}  // namespace
}  // namespace headroom::kernels
