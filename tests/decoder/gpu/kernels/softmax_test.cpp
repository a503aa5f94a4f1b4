#include "decoder/gpu/calls/softmax.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "decoder/cpu/loops/storage.h"
#include "tests/support/held_view.h"
#include "tests/support/sanitized.h"

namespace headroom::gpu {
namespace {

using headroom::test::HeldView;
using headroom::test::Random;

constexpr float kUntouched = 1e30f;

float widened(Dtype dtype, const void* from) {
  float value = 0;
  kernels::widen(dtype, from, &value, 1);
  return value;
}

TEST_CASE("scores become weights, by vectors and one by one") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{60}, headroom::test::kSeedStep));
  Random random(seed);
  const Dtype dtype = random.pick<Dtype>({Dtype::fp16, Dtype::bf16, Dtype::fp32});
  const int64_t queries = random.integer(1, 3),
                keys = random.integer(1, random.pick<int64_t>({20, 300, 2048, 5000}));
  const bool vectors = random.chance(0.6);
  // The kernel may write behind the keys of a row, but only up to the row's end.
  const int64_t row = vectors ? (keys + 7) / 8 * 8 : keys + random.integer(0, 3);
  const int64_t shifted = vectors ? 0 : random.integer(0, 3);
  CAPTURE(seed, name_of(dtype), queries, keys, row, shifted);
  struct alignas(16) Four {
    float values[4];
  };
  std::vector<Four> memory(static_cast<size_t>((queries * row + shifted) / 4 + 2),
                           Four{{NAN, NAN, NAN, NAN}});
  float* scores = memory.front().values + shifted;
  scores[queries * row] = kUntouched;
  std::vector<float> before;
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t k = 0; k < keys; ++k) {
      scores[q * row + k] = static_cast<float>(random.uniform(-9, 9));
      before.push_back(scores[q * row + k]);
    }
  }
  SoftmaxChunk call;
  std::vector<float> largest, weights, factors(static_cast<size_t>(queries), kUntouched);
  for (int64_t q = 0; q < queries; ++q) {
    largest.push_back(static_cast<float>(random.uniform(-2, 2)));
    weights.push_back(static_cast<float>(random.uniform(1, 50)));
  }
  const std::vector<float> old_largest = largest, old_weights = weights;
  call.scores = scores;
  call.queries = queries;
  call.keys = keys;
  call.row = row;
  call.scale = 0.25F;
  call.dtype = dtype;
  call.first = random.chance(0.4);
  call.largest = largest.data();
  call.weights = weights.data();
  call.factors = factors.data();
  weigh(call, nullptr);

  // exp2f and its argument are rounded too, by up to 2^-20 together.
  const double rounding = dtype == Dtype::fp32 ? 0x1p-20 : dtype == Dtype::fp16 ? 0x1p-10 : 0x1p-7;
  for (int64_t q = 0; q < queries; ++q) {
    const auto at = static_cast<size_t>(q);
    const float* own = before.data() + q * keys;
    float expected = *std::max_element(own, own + keys) * call.scale;
    if (!call.first) expected = std::max(expected, old_largest[at]);
    REQUIRE(largest[at] == expected);
    double sum = 0;
    for (int64_t k = 0; k < keys; ++k) {
      const auto* weight =
          reinterpret_cast<const std::byte*>(scores + q * row) + k * bytes_per_element(dtype);
      const double found = widened(dtype, weight),
                   exact = std::exp2(double{own[k]} * 0.25 - double{expected});
      REQUIRE(std::abs(found - exact) <= exact * rounding + (dtype == Dtype::fp32 ? 0 : 1e-7));
      sum += found;
    }
    const double factor = call.first ? 0 : std::exp2(double{old_largest[at]} - double{expected});
    CHECK(weights[at] == Approx(sum + factor * double{old_weights[at]}).epsilon(1e-5));
    CHECK(factors[at] == Approx(call.first ? double{kUntouched} : factor).epsilon(1e-5));
  }
  CHECK(scores[queries * row] == kUntouched);
}

TEST_CASE("sums are rescaled, by vectors and one by one") {
  for (const int32_t channels : {1, 6, 8, 300, 512}) {
    CAPTURE(channels);
    constexpr int64_t kQueries = 19;
    std::vector<float> sums(static_cast<size_t>(kQueries * channels + 1), 3.0F),
        factors(static_cast<size_t>(kQueries));
    for (size_t q = 0; q < factors.size(); ++q) factors[q] = q % 3 == 0 ? 1.0F : 1.0F / static_cast<float>(q);
    rescale({sums.data(), factors.data(), kQueries, channels}, nullptr);
    for (int64_t i = 0; i < kQueries * channels; ++i)
      REQUIRE(sums[static_cast<size_t>(i)] == 3.0F * factors[static_cast<size_t>(i / channels)]);
    CHECK(sums.back() == 3.0F);
  }
}

TEST_CASE("weighted means are stored where their positions lie, by vectors and one by one") {
  for (const int32_t channels : {5, 8, 264}) {
    for (const Dtype dtype : {Dtype::fp16, Dtype::bf16, Dtype::fp32}) {
      CAPTURE(channels, name_of(dtype));
      const Box around{{0, 2}, {0, 7}, {0, 6}}, box{{1, 2}, {1, 6}, {2, 6}};
      HeldView target(around, channels, 3, dtype);
      target.fill(7);
      constexpr int64_t kFirst = 3, kCount = 14;  // of 20
      std::vector<float> sums, weights;
      for (int64_t i = 0; i < kCount; ++i) {
        weights.push_back(static_cast<float>(i + 1));
        for (int32_t c = 0; c < channels; ++c)
          sums.push_back(static_cast<float>((i + 1) * (kFirst + i + c % 16)));
      }
      store_weighted_means({sums.data(), weights.data(), target.view, box, kFirst, kCount}, nullptr);
      headroom::test::for_positions(around, [&](int32_t t, int32_t y, int32_t x) {
        const bool inside = t == 1 && y >= 1 && y < 6 && x >= 2;
        const int64_t number = inside ? (y - 1) * 4 + x - 2 : -1;
        const bool stored = number >= kFirst && number < kFirst + kCount;
        for (int32_t c = 0; c < channels; ++c)
          REQUIRE(target.value(t, y, x, c) == (stored ? double(number + c % 16) : 7));
      });
    }
  }
}

}  // namespace
}  // namespace headroom::gpu
