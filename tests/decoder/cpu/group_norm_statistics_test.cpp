#include "decoder/cpu/group_norm_statistics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "decoder/schedule/tiles.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::Random;

struct TwoPass {
  long double count = 0, mean = 0, m2 = 0;
};

template <typename T>
TwoPass two_pass(const std::vector<T>& values) {
  TwoPass result;
  result.count = static_cast<long double>(values.size());
  for (const T value : values) result.mean += static_cast<long double>(value);
  result.mean /= result.count;
  for (const T value : values) {
    const long double difference = static_cast<long double>(value) - result.mean;
    result.m2 += difference * difference;
  }
  return result;
}

Moments of_one(double value) {
  return {1, value, 0};
}

TEST_CASE("merging in any order gives the two-pass mean and deviation") {
  const auto [mean, deviation] =
      GENERATE(table<double, double>({{0, 1}, {3, 0.5}, {1e4, 1e-2}, {-1e6, 1}, {1, 1e-6}}));
  const uint64_t seed = 5;
  CAPTURE(mean, deviation, seed);
  Random random(seed);
  std::vector<double> values;
  for (int i = 0; i < 5000; ++i) values.push_back(mean + deviation * random.uniform(-1, 1));
  const TwoPass expected = two_pass(values);
  // One by one, and pairwise: what rounding does to the mean enters the difference from it.
  const double allowed = 1e-12 + 4 * std::abs(mean) * 0x1p-53 / deviation * 10;
  Moments one_by_one;
  for (const double value : values) one_by_one = merged(one_by_one, of_one(value));
  std::vector<Moments> level;
  for (const double value : values) level.push_back(of_one(value));
  while (level.size() > 1) {
    std::vector<Moments> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? merged(level[i], level[i + 1]) : level[i]);
    }
    level = next;
  }
  for (const Moments& found : {one_by_one, level[0]}) {
    CHECK(found.count == 5000);
    CHECK(found.mean == Approx(double(expected.mean)).epsilon(1e-13).margin(1e-14));
    CHECK(found.m2 == Approx(double(expected.m2)).epsilon(allowed));
  }
}

TEST_CASE("nothing merged with something is that") {
  const Moments some{3, 2.5, 7}, none;
  CHECK(merged(some, none).mean == 2.5);
  CHECK(merged(none, some).m2 == 7);
  CHECK(merged(none, none).count == 0);
}

/// Values of all items, channels last, in one block per item.
struct Pixels {
  int64_t items, rows, columns, channels;
  std::vector<float> values;

  Pixels(int64_t n, int64_t y, int64_t x, int64_t c)
      : items(n), rows(y), columns(x), channels(c), values(static_cast<size_t>(n * y * x * c)) {}
  MapView view() {
    MapView view{{{0, 1}, {0, rows}, {0, columns}}, channels, rows, 1, {}};
    for (int64_t item = 0; item < items; ++item)
      view.blocks.push_back(values.data() + item * rows * columns * channels);
    return view;
  }
  std::vector<float> group(int64_t item, int64_t index, int64_t groups) const {
    std::vector<float> list;
    const int64_t width = channels / groups;
    for (int64_t p = 0; p < rows * columns; ++p) {
      for (int64_t c = index * width; c < (index + 1) * width; ++c) {
        list.push_back(values[static_cast<size_t>((item * rows * columns + p) * channels + c)]);
      }
    }
    return list;
  }
};

TEST_CASE("statistics gathered tile by tile are those of the whole, for each item and group") {
  const auto [mean, deviation, allowed] = GENERATE(
      table<double, double, double>({{0, 1, 1e-6}, {5, 1, 1e-6}, {1000, 0.05, 1e-6}, {-300, 0.001, 2e-5}}));
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{6}));
  CAPTURE(mean, deviation, seed);
  Random random(seed);
  const int64_t groups = random.pick<int64_t>({1, 2, 4});
  Pixels pixels{random.integer(1, 3), random.integer(1, 33), random.integer(1, 29),
                groups * random.integer(1, 9)};
  for (float& value : pixels.values) value = static_cast<float>(mean + deviation * random.uniform(-1, 1));
  GroupStatistics tiled(pixels.items, groups);
  for (const Interval& y : cut(pixels.rows, random.integer(1, pixels.rows))) {
    for (const Interval& x : cut(pixels.columns, random.integer(1, pixels.columns))) {
      tiled.add(pixels.view(), {{0, 1}, y, x}, pixels.items);
    }
  }
  CHECK(tiled.finite());
  const auto channels = static_cast<size_t>(pixels.channels);
  std::vector<float> weight(channels), bias(channels), scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    weight[c] = static_cast<float>(random.uniform(0.5, 2));
    bias[c] = static_cast<float>(random.uniform(-1, 1));
  }
  const double epsilon = 1e-6;
  for (int64_t item = 0; item < pixels.items; ++item) {
    tiled.affine(item, pixels.channels, {weight.data(), bias.data(), epsilon}, scale.data(), shift.data());
    for (size_t c = 0; c < channels; ++c) {
      const TwoPass expected =
          two_pass(pixels.group(item, static_cast<int64_t>(c) / (pixels.channels / groups), groups));
      const long double factor =
          weight[c] / std::sqrt(expected.m2 / expected.count + static_cast<long double>(epsilon));
      CHECK(scale[c] == Approx(double(factor)).epsilon(allowed));
      const long double moved = static_cast<long double>(bias[c]) - expected.mean * factor;
      CHECK(shift[c] == Approx(double(moved)).epsilon(allowed).margin(1e-6));
    }
  }
}

TEST_CASE("one NaN or infinity is found in the statistics") {
  const float bad = GENERATE(std::nanf(""), HUGE_VALF, -HUGE_VALF);
  Pixels pixels(2, 3, 3, 4);
  for (float& value : pixels.values) value = 1;
  pixels.values[40] = bad;
  GroupStatistics statistics(2, 2);
  statistics.add(pixels.view(), {{0, 1}, {0, 3}, {0, 3}}, 2);
  CHECK_FALSE(statistics.finite());
}

TEST_CASE("a constant has no deviation, and epsilon keeps the factor finite") {
  Pixels pixels(1, 5, 5, 2);
  for (float& value : pixels.values) value = 0.1f;
  GroupStatistics statistics(1, 1);
  for (const Interval& y : cut(5, 2)) statistics.add(pixels.view(), {{0, 1}, y, {0, 5}}, 1);
  const float weight[2] = {1, 1}, bias[2] = {0, 0};
  float scale[2], shift[2];
  statistics.affine(0, 2, {weight, bias, 1e-6}, scale, shift);
  CHECK(scale[0] == Approx(1000).epsilon(1e-6));
  CHECK(scale[0] * 0.1f + shift[0] == Approx(0).margin(1e-4));
}

}  // namespace
}  // namespace headroom
