#include "decoder/cpu/loops/loops.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "decoder/cpu/loops/norm.h"
#include "tests/support/activated.h"
#include "tests/support/random.h"

namespace headroom::kernels {
namespace {

constexpr uint64_t kSeed = 7001;
constexpr int64_t kMostChannels = 70;
constexpr double kFloatEpsilon = 0x1p-24;  // half a unit in the last place of 1

std::vector<float> values(test::Random& random, int64_t count, double low, double high) {
  std::vector<float> list(static_cast<size_t>(count));
  for (float& value : list) value = static_cast<float>(random.uniform(low, high));
  return list;
}

TEST_CASE("SiLU over its whole range, far ends included") {
  for (const auto& [name, loops] : loops_that_run()) {
    CAPTURE(name);
    std::vector<float> x;
    for (double v = -86; v <= 200; v += 0.0137) x.push_back(static_cast<float>(v));
    std::vector<float> out(x.size());
    const float one = 1, nought = 0;
    loops->affine_silu(x.data(), out.data(), static_cast<int64_t>(x.size()), 1, &one, &nought);
    double largest = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = test::silu(double(x[i]));
      if (expected != 0) largest = std::max(largest, std::abs(out[i] - expected) / std::abs(expected));
    }
    CHECK(largest < 5e-7);
    const std::vector<float> far{-1e4f, -1e20f, 3e38f, 0.0f};
    std::vector<float> far_out(far.size());
    loops->affine_silu(far.data(), far_out.data(), 4, 1, &one, &nought);
    CHECK(std::abs(far_out[0]) < 1e-30f);
    CHECK(std::abs(far_out[1]) < 1e-15f);
    CHECK(far_out[2] == far[2]);
    CHECK(far_out[3] == 0.0f);
  }
}

TEST_CASE("a value that is not finite stays so") {
  const float one = 1, nought = 0;
  const std::vector<float> x{std::nanf(""), HUGE_VALF};
  for (const auto& [name, loops] : loops_that_run()) {
    CAPTURE(name);
    std::vector<float> out(2);
    loops->affine_silu(x.data(), out.data(), 2, 1, &one, &nought);
    CHECK_FALSE(std::isfinite(out[0]));
    CHECK_FALSE(std::isfinite(out[1]));
  }
}

TEST_CASE("sums over 16 neighbouring channels") {
  CAPTURE(kSeed);
  test::Random random(kSeed);
  for (const auto& [name, loops] : loops_that_run()) {
    for (int64_t channels = 16; channels <= kMostChannels; ++channels) {
      CAPTURE(name, channels);
      const int64_t pixels = random.integer(1, 40), first = random.integer(0, channels - 16);
      const std::vector<float> x = values(random, pixels * channels, 90, 110);
      std::vector<double> sum(16, 5.0), square_sum(16, 6.0);
      loops->sum_16(x.data() + first, pixels, channels, sum.data(), square_sum.data());
      for (size_t c = 0; c < 16; ++c) {
        double expected = 5, expected_square = 6;
        for (int64_t p = 0; p < pixels; ++p) {
          const double v = x[static_cast<size_t>(p * channels + first) + c];
          expected += v;
          expected_square += v * v;
        }
        CHECK(sum[c] == Approx(expected).epsilon(1e-14));
        CHECK(square_sum[c] == Approx(expected_square).epsilon(1e-14));
      }
    }
  }
}

TEST_CASE("sums of every channel, for every count of channels and past a run's end") {
  CAPTURE(kSeed);
  test::Random random(kSeed);
  for (int64_t channels = 1; channels <= kMostChannels; ++channels) {
    const int64_t pixels = random.pick<int64_t>({1, 2, 255, 256, 257, 700});
    CAPTURE(channels, pixels);
    const std::vector<float> x = values(random, pixels * channels, -1, 3);
    std::vector<double> sum(static_cast<size_t>(channels), 0.5), square_sum(sum);
    channel_sums(x.data(), pixels, channels, sum.data(), square_sum.data());
    for (size_t c = 0; c < sum.size(); ++c) {
      double expected = 0.5, expected_square = 0.5;
      for (int64_t p = 0; p < pixels; ++p) {
        const double v = x[static_cast<size_t>(p * channels) + c];
        expected += v;
        expected_square += v * v;
      }
      CHECK(sum[c] == Approx(expected).epsilon(1e-13));
      CHECK(square_sum[c] == Approx(expected_square).epsilon(1e-13));
    }
  }
}

}  // namespace
}  // namespace headroom::kernels
