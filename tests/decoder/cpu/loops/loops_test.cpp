#include "decoder/cpu/loops/loops.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "decoder/cpu/loops/channel_sums.h"
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

struct Affine {
  double value;  ///< x * scale + shift
  double error;  ///< that fp32 may make, fused or not
};

Affine affine(float x, float scale, float shift) {
  const double product = double(x) * double(scale);
  const double value = product + double(shift);
  return {value, kFloatEpsilon * (std::abs(product) + std::abs(value))};
}

TEST_CASE("scale and shift per channel, for every count of channels") {
  CAPTURE(kSeed);
  test::Random random(kSeed);
  for (const auto& [name, loops] : loops_that_run()) {
    for (int64_t channels = 1; channels <= kMostChannels; ++channels) {
      CAPTURE(name, channels);
      const int64_t pixels = random.integer(1, 9);
      const std::vector<float> x = values(random, pixels * channels, -9, 9);
      const std::vector<float> scale = values(random, channels, -2, 2),
                               shift = values(random, channels, -3, 3);
      // One value beyond the end, which must stay as it is.
      std::vector<float> plain(x.size() + 1, 77.0f), with_silu(x.size() + 1, 77.0f);
      loops->affine(x.data(), plain.data(), pixels, channels, scale.data(), shift.data());
      loops->affine_silu(x.data(), with_silu.data(), pixels, channels, scale.data(), shift.data());
      int64_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t c = i % static_cast<size_t>(channels);
        const Affine expected = affine(x[i], scale[c], shift[c]);
        wrong += std::abs(plain[i] - expected.value) > expected.error;
        // The slope of SiLU is at most 1.1; the exponential, sum and quotient add five roundings.
        const double allowed =
            1.1 * expected.error + 8 * kFloatEpsilon * std::abs(test::silu(expected.value));
        wrong += std::abs(with_silu[i] - test::silu(expected.value)) > allowed;
      }
      CHECK(wrong == 0);
      CHECK(plain.back() == 77.0f);
      CHECK(with_silu.back() == 77.0f);
    }
  }
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

TEST_CASE("norm and activation, in place too") {
  const auto activation = GENERATE(Activation::none, Activation::silu, Activation::relu, Activation::gelu,
                                   Activation::mish, Activation::clamp, Activation::soft_clamp);
  CAPTURE(kSeed, static_cast<int>(activation));
  test::Random random(kSeed);
  for (int64_t channels = 1; channels <= kMostChannels; ++channels) {
    CAPTURE(channels);
    const int64_t pixels = random.integer(1, 9);
    const std::vector<float> x = values(random, pixels * channels, -6, 6);
    const std::vector<float> scale = values(random, channels, -2, 2), shift = values(random, channels, -3, 3);
    std::vector<float> out(x.size()), in_place = x;
    norm_activate(x.data(), out.data(), pixels, channels, scale.data(), shift.data(), activation);
    norm_activate(in_place.data(), in_place.data(), pixels, channels, scale.data(), shift.data(), activation);
    CHECK(in_place == out);
    int64_t wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i % static_cast<size_t>(channels);
      const Affine expected = affine(x[i], scale[c], shift[c]);
      // Slopes are at most 1.13. gelu's 1 + erf and mish's tanh round at the magnitude of their argument.
      const double allowed = 1.2 * expected.error + 8 * kFloatEpsilon * std::abs(expected.value);
      wrong += std::abs(out[i] - test::activated(activation, expected.value)) > allowed;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a pixel's norm, for every count of channels") {
  CAPTURE(kSeed);
  test::Random random(kSeed);
  constexpr double kEpsilon = 1e-5;
  for (const auto& [name, loops] : loops_that_run()) {
    for (int64_t channels = 1; channels <= kMostChannels; ++channels) {
      CAPTURE(name, channels);
      const int64_t pixels = random.integer(1, 5);
      const std::vector<float> x = values(random, pixels * channels, -6, 6);
      const std::vector<float> weight = values(random, channels, -2, 2),
                               bias = values(random, channels, -3, 3);
      std::vector<float> out(static_cast<size_t>(pixels * channels));
      const bool centred = random.chance(0.5);
      const auto norm = centred ? loops->layer_norm : loops->rms_norm;
      norm(x.data(), out.data(), pixels, channels, weight.data(), bias.data(), static_cast<float>(kEpsilon));
      std::vector<float> in_place = x;
      norm(in_place.data(), in_place.data(), pixels, channels, weight.data(), bias.data(),
           static_cast<float>(kEpsilon));
      int64_t wrong = 0;
      for (int64_t p = 0; p < pixels; ++p) {
        double mean = 0, squares = 0;
        for (int64_t c = 0; c < channels && centred; ++c)
          mean += double(x[static_cast<size_t>(p * channels + c)]) / double(channels);
        for (int64_t c = 0; c < channels; ++c) {
          const double v = double(x[static_cast<size_t>(p * channels + c)]) - mean;
          squares += v * v / double(channels);
        }
        for (int64_t c = 0; c < channels; ++c) {
          const auto i = static_cast<size_t>(p * channels + c), k = static_cast<size_t>(c);
          const double expected =
              (double(x[i]) - mean) / std::sqrt(squares + kEpsilon) * double(weight[k]) + double(bias[k]);
          // A mean of values up to 6 is rounded to 2^-21 or better, and what is left of them is multiplied.
          const double of_mean =
              centred ? std::ldexp(1, -21) / std::sqrt(squares + kEpsilon) * std::abs(double(weight[k])) : 0;
          wrong += std::abs(out[i] - expected) > 4e-6 * (1 + std::abs(expected)) + of_mean;
          wrong += in_place[i] != out[i];
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("channels convolved one by one, for every count of channels and pixels") {
  CAPTURE(kSeed);
  test::Random random(kSeed);
  for (const auto& [name, loops] : loops_that_run()) {
    for (int64_t channels = 1; channels <= kMostChannels; channels += random.integer(1, 3)) {
      const int64_t pixels = random.integer(1, 9), side = random.pick<int64_t>({1, 3, 5});
      CAPTURE(name, channels, pixels, side);
      const int64_t padded = (channels + 15) / 16 * 16, columns = pixels + side - 1;
      const std::vector<float> x = values(random, side * columns * channels, -1, 1),
                               kernel = values(random, side * side * padded, -1, 1),
                               bias = values(random, channels, -1, 1);
      std::vector<const float*> rows;
      for (int64_t y = 0; y < side; ++y) rows.push_back(x.data() + y * columns * channels);
      std::vector<float> out(static_cast<size_t>(pixels * channels));
      loops->depthwise(
          {rows.data(), side, side, channels, kernel.data(), padded, bias.data(), out.data(), pixels});
      int64_t wrong = 0;
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < channels; ++c) {
          double sum = double(bias[static_cast<size_t>(c)]);
          for (int64_t y = 0; y < side; ++y) {
            for (int64_t i = 0; i < side; ++i) {
              sum += double(x[static_cast<size_t>((y * columns + p + i) * channels + c)]) *
                     double(kernel[static_cast<size_t>((y * side + i) * padded + c)]);
            }
          }
          wrong += std::abs(out[static_cast<size_t>(p * channels + c)] - sum) > 4e-6;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace
}  // namespace headroom::kernels
