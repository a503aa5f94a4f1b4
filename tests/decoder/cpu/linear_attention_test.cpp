#include "decoder/cpu/linear_attention.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "decoder/cpu/tile.h"
#include "decoder/session/libraries.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::Random;

constexpr double kEpsilon = 1e-15;
constexpr int64_t kPoolBytes = int64_t{256} << 20;

Tile random_tile(LimitedPool& pool, Random& random, int64_t rows, int64_t columns, int64_t channels,
                 int64_t items) {
  Tile tile = make_tile(pool, {{0, 1}, {0, rows}, {0, columns}}, channels, items);
  float* values = tile.values.get();
  for (int64_t i = 0; i < tile.value_count(); ++i) values[i] = static_cast<float>(random.uniform(-1, 1));
  return tile;
}

/// By the quadratic form, in double: weights relu(k) · relu(q) over their sum.
double attended_by_hand(const Tile& input, int64_t first, int64_t channels, int64_t item, int64_t y,
                        int64_t x, int64_t c) {
  const MapView view = input.view();
  const float* query = view.at({item, 0, y}, x) + first;
  double sum = 0, weights = 0;
  for (int64_t j = view.region.y.begin; j < view.region.y.end; ++j) {
    for (int64_t i = view.region.x.begin; i < view.region.x.end; ++i) {
      const float* key = view.at({item, 0, j}, i) + first + channels;
      double weight = 0;
      for (int64_t k = 0; k < channels; ++k)
        weight += std::max(0.0, double(query[k])) * std::max(0.0, double(key[k]));
      weights += weight;
      sum += weight * double(key[channels + c]);
    }
  }
  return sum / (weights + kEpsilon);
}

TEST_CASE("linear attention is the quadratic form, whatever tiles its sums come from") {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    Random random(seed);
    LimitedPool pool(kPoolBytes);
    const int64_t channels = random.pick<int64_t>({1, 3, 8, 16, 32, 70}), items = random.integer(1, 2);
    const int64_t rows = random.integer(1, 7), columns = random.pick<int64_t>({1, 5, 70});
    const int64_t heads = random.integer(1, 3), input_count = random.integer(1, 2);
    const int threads = static_cast<int>(random.integer(1, 3));
    CAPTURE(seed, channels, items, rows, columns, heads, input_count, threads);
    start_libraries(threads);
    std::vector<Tile> inputs;
    std::vector<MapView> views;
    for (int64_t i = 0; i < input_count; ++i) {
      inputs.push_back(random_tile(pool, random, rows, columns, 3 * heads * channels, items));
      views.push_back(inputs.back().view());
    }
    const LinearHeads shape{heads * input_count, channels};
    KeyValueSums sums(items, shape), again(items, shape);
    const int64_t cut_y = random.integer(0, rows), cut_x = random.integer(0, columns);
    for (const Interval& y : {Interval{0, cut_y}, Interval{cut_y, rows}}) {
      for (const Interval& x : {Interval{0, cut_x}, Interval{cut_x, columns}}) {
        sums.add(views, {{0, 1}, y, x}, items);
        start_libraries(2);
        again.add(views, {{0, 1}, y, x}, items);
        start_libraries(threads);
      }
    }
    REQUIRE(sums.finite());
    bool same = true;
    for (int64_t i = 0; i < channels * (channels + 1); ++i)
      same = same && sums.of(items - 1, shape.heads - 1)[i] == again.of(items - 1, shape.heads - 1)[i];
    CHECK(same);  // not only to rounding: threads share the heads, not the positions
    const Tile result = make_tile(pool, inputs[0].region, shape.heads * channels, items);
    attend_linearly(pool, views, {sums, kEpsilon}, result.view(), result.region, items);
    double error = 0, magnitude = 0;
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t y = 0; y < rows; ++y) {
        for (int64_t x = 0; x < columns; ++x) {
          for (int64_t c = 0; c < shape.heads * channels; ++c) {
            const int64_t head = c / channels;
            const double expected =
                attended_by_hand(inputs[static_cast<size_t>(head / heads)], head % heads * 3 * channels,
                                 channels, item, y, x, c % channels);
            error = std::max(error, std::abs(double(result.view().at({item, 0, y}, x)[c]) - expected));
            magnitude = std::max(magnitude, std::abs(expected));
          }
        }
      }
    }
    CHECK(error <= 1e-5 * std::max(magnitude, 0.1));
  }
}

TEST_CASE("queries that meet no key give zero, and what is not finite is found in the sums") {
  Random random(3);
  LimitedPool pool(kPoolBytes);
  Tile tile = random_tile(pool, random, 2, 3, 12, 1);
  float* values = tile.values.get();
  for (int64_t i = 0; i < tile.value_count(); ++i) {
    if (i % 12 < 4) values[i] = -1;
  }
  const LinearHeads shape{1, 4};
  KeyValueSums sums(1, shape);
  sums.add({tile.view()}, tile.region, 1);
  const Tile result = make_tile(pool, tile.region, 4, 1);
  attend_linearly(pool, {tile.view()}, {sums, kEpsilon}, result.view(), result.region, 1);
  for (int64_t i = 0; i < result.value_count(); ++i) CHECK(result.values.get()[i] == 0);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    values[7] = bad;
    KeyValueSums hurt(1, shape);
    hurt.add({tile.view()}, tile.region, 1);
    CHECK_FALSE(hurt.finite());
  }
}

}  // namespace
}  // namespace headroom
