#include "decoder/cpu/attention.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "decoder/cpu/tile.h"
#include "decoder/session/environment.h"
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
