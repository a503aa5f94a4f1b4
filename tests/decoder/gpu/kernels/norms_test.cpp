#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"
#include "tests/support/activated.h"
#include "tests/support/sanitized.h"

// Norms, activations and what mixes a few values: each against a plain loop in double.
namespace headroom::gpu {
namespace {

using namespace test;
using headroom::test::activated;
using headroom::test::any_activation;
using headroom::test::silu;
using Value = std::optional<double>;

constexpr double kError = 2e-6;  // of fp32 arithmetic

std::vector<float> any_floats(Random& random, int64_t count, double reach) {
  std::vector<float> list(static_cast<size_t>(count));
  for (float& value : list) value = static_cast<float>(random.uniform(-reach, reach));
  return list;
}

TEST_CASE("normalise: scale, shift, activation, and zeros outside the picture") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{150}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  const Size picture = picture_near(random, box);
  Map source{random, around(random, within(box, picture)), channels, any_dtype(random)};
  Map target(random, box, channels, any_dtype(random));
  const bool by_frame = random.chance(0.4);
  // One further on now and then: lists need no alignment beyond that of floats.
  const int64_t offset = random.chance(0.2) ? 1 : 0;
  const int64_t sets = by_frame ? box.t.end : 1;
  const std::vector<float> scale = any_floats(random, sets * channels + offset, 2),
                           shift = any_floats(random, sets * channels + offset, 3);
  const Activation activation = any_activation(random);
  const Map before = target;
  start(Normalise{.source = source.view(),
                  .target = target.view(),
                  .scale = scale.data() + offset,
                  .shift = shift.data() + offset,
                  .by_frame = by_frame,
                  .activation = activation,
                  .picture = picture},
        nullptr);
  CHECK(difference(before, target, kError, [&](const Position& at) -> Value {
          if (!in_picture(at, picture)) return 0.0;
          const auto c = static_cast<size_t>((by_frame ? at.t * channels : 0) + at.c + offset);
          return activated(activation, double(source.at(at)) * double(scale[c]) + double(shift[c]));
        }) == "");
}

TEST_CASE("rms norm: each position by itself") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{150}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  Map source{random, around(random, box), channels, any_dtype(random)};
  Map target{random, around(random, box), channels, any_dtype(random)};
  const int64_t offset = random.chance(0.2) ? 1 : 0;
  const std::vector<float> weight = any_floats(random, channels + offset, 2),
                           bias = any_floats(random, channels + offset, 3);
  const Activation activation = any_activation(random);
  const float epsilon = random.pick<float>({1e-6f, 0.5f});
  const bool centred = random.chance(0.5);
  const Map before = target;
  start(RmsNorm{.source = source.view(),
                .target = target.view(),
                .weight = weight.data() + offset,
                .bias = bias.data() + offset,
                .epsilon = epsilon,
                .activation = activation,
                .region = box,
                .centred = centred},
        nullptr);
  double mean = 0, factor = 0;
  const auto measure = [&](const Position& at) {
    double sum = 0, squares = 0;
    for (int32_t c = 0; c < channels; ++c) sum += source.at({at.t, at.y, at.x, c});
    mean = centred ? sum / channels : 0;
    for (int32_t c = 0; c < channels; ++c) {
      const double value = source.at({at.t, at.y, at.x, c}) - mean;
      squares += value * value;
    }
    factor = 1 / std::sqrt(squares / channels + double(epsilon));
  };
  // Few values that are close to one another differ by little. Their norm multiplies the rounding of their
  // mean.
  double multiplied_mean = 0;
  target.each([&](const Position& at) {
    if (at.c != 0 || !has(box, at)) return;
    measure(at);
    multiplied_mean = std::max(multiplied_mean, std::abs(mean) * factor);
  });
  CHECK(difference(before, target, kError + 0x1p-22 * multiplied_mean, [&](const Position& at) -> Value {
          if (!has(box, at)) return std::nullopt;
          if (at.c == 0) measure(at);
          const auto c = static_cast<size_t>(at.c + offset);
          return activated(activation,
                           (double(source.at(at)) - mean) * factor * double(weight[c]) + double(bias[c]));
        }) == "");
}

TEST_CASE("activate: a region, in place") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{80}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  Map tile{random, around(random, box), channels, any_dtype(random)};
  const Activation activation = any_activation(random);
  const Map before = tile;
  start(Activate{.tile = tile.view(), .activation = activation, .region = box}, nullptr);
  CHECK(difference(before, tile, kError, [&](const Position& at) {
          return has(box, at) ? Value(activated(activation, before.at(at))) : std::nullopt;
        }) == "");
}

TEST_CASE("activations of what is large, and of what is no number") {
  Random random(1);
  const Box box{{0, 1}, {0, 1}, {0, 1}};
  const std::vector<float> values{-1e30f, -200, -90, -60, 60, 90, 200, 1e30f};
  for (const Activation activation : {Activation::silu, Activation::relu, Activation::gelu, Activation::mish,
                                      Activation::clamp, Activation::soft_clamp}) {
    CAPTURE(int(activation));
    Map tile(random, box, 9, Dtype::fp32), vectors(random, box, 8, Dtype::fp32);
    for (int32_t i = 0; i < 8; ++i) {
      tile.set({0, 0, 0, i}, values[static_cast<size_t>(i)]);
      vectors.set({0, 0, 0, i}, values[static_cast<size_t>(i)]);
    }
    tile.set({0, 0, 0, 8}, NAN);
    start(Activate{.tile = tile.view(), .activation = activation, .region = box}, nullptr);
    start(Activate{.tile = vectors.view(), .activation = activation, .region = box}, nullptr);
    for (int32_t i = 0; i < 8; ++i) {
      const double value = values[static_cast<size_t>(i)];
      const double expected =
          activation == Activation::mish && value > 0 ? value : activated(activation, value);
      CHECK(double(tile.at({0, 0, 0, i})) == Approx(expected).margin(1e-7));
      CHECK(vectors.at({0, 0, 0, i}) == tile.at({0, 0, 0, i}));
    }
    CHECK(std::isnan(tile.at({0, 0, 0, 8})));
  }
}

TEST_CASE("gate: the first half by silu of the second") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{80}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  Map source{random, around(random, box), 2 * channels, any_dtype(random)};
  Map target{random, around(random, box), channels, any_dtype(random)};
  const Map before = target;
  start(Gate{.source = source.view(), .target = target.view(), .region = box}, nullptr);
  CHECK(difference(before, target, kError, [&](const Position& at) -> Value {
          if (!has(box, at)) return std::nullopt;
          return double(source.at(at)) * silu(source.at({at.t, at.y, at.x, at.c + channels}));
        }) == "");
}

/// Positions that PyTorch's interpolation by 2 (align_corners=False) reads, and their weights.
struct Reads {
  int32_t at[2];
  double share[2];
};
Reads reads_of(int32_t position, int32_t factor, int32_t size) {
  if (factor == 1) return {{position, position}, {1, 0}};
  const double source = std::max(0.0, (position + 0.5) / 2 - 0.5);
  const auto low = std::min(static_cast<int32_t>(source), size - 1);
  const double share = source - low;
  return {{low, std::min(low + 1, size - 1)}, {1 - share, share}};
}

TEST_CASE("interpolate: linear between the middles of positions") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{150}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const auto factor = [&] { return static_cast<int32_t>(random.integer(1, 2)); };
  const int32_t channels = any_channels(random), factor_t = factor(), factor_y = factor(),
                factor_x = factor();
  const Size extent{static_cast<int32_t>(random.integer(1, 4)), static_cast<int32_t>(random.integer(1, 5)),
                    static_cast<int32_t>(random.integer(1, channels > 256 ? 3 : 11))};
  const Box all{{0, 1 + (extent.t - 1) * factor_t}, {0, extent.y * factor_y}, {0, extent.x * factor_x}};
  const Box box = part_of(random, all);
  // No more of the source than is read: all frames, and a position around what the region stands for.
  const auto needed = [](const Span& span, int32_t by, int32_t size) {
    if (by == 1) return span;
    return Span{std::max(0, (span.begin + 1) / 2 - 1), std::min(size, span.end / 2 + 1)};
  };
  const Box read{{0, extent.t}, needed(box.y, factor_y, extent.y), needed(box.x, factor_x, extent.x)};
  Map source(random, read, channels, any_dtype(random));
  Map target{random, around(random, box), channels, any_dtype(random)};
  const Map before = target;
  start(Interpolate{.source = source.view(),
                    .target = target.view(),
                    .factor_t = factor_t,
                    .factor_y = factor_y,
                    .factor_x = factor_x,
                    .source_extent = extent,
                    .region = box},
        nullptr);
  CHECK(difference(before, target, kError, [&](const Position& at) -> Value {
          if (!has(box, at)) return std::nullopt;
          Reads t = reads_of(at.t - 1, factor_t, extent.t - 1), y = reads_of(at.y, factor_y, extent.y),
                x = reads_of(at.x, factor_x, extent.x);
          for (int32_t& frame : t.at) ++frame;
          if (at.t == 0) t = {{0, 0}, {1, 0}};
          double sum = 0;
          for (int i = 0; i < 8; ++i) {
            const double share = t.share[i / 4] * y.share[i / 2 % 2] * x.share[i % 2];
            if (share != 0)
              sum += share * double(source.at({t.at[i / 4], y.at[i / 2 % 2], x.at[i % 2], at.c}));
          }
          return sum;
        }) == "");
}

}  // namespace
}  // namespace headroom::gpu
