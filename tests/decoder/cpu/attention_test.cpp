#include "decoder/cpu/attention.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/interpreter/kept_map.h"
#include "decoder/lowering/attention.h"
#include "decoder/lowering/memory.h"
#include "decoder/lowering/storage.h"
#include "planner/cost/memory_costs.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "decoder/session/libraries.h"
#include "tests/support/attended.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::Random;

/// Values of a map cut into blocks of rows, each in memory of its own.
struct Blocks {
  std::vector<std::vector<float>> storage;
  MapView view;

  Blocks(const std::vector<float>& values, int64_t items, int64_t rows, int64_t columns, int64_t channels,
         int64_t block_rows) {
    const int64_t count = (rows + block_rows - 1) / block_rows;
    view = {{{0, 1}, {0, rows}, {0, columns}}, channels, block_rows, count, {}};
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t b = 0; b < count; ++b) {
        const int64_t row = item * rows + b * block_rows;
        const int64_t end = item * rows + std::min(rows, (b + 1) * block_rows);
        // What lies behind the last row of a short block must not count.
        std::vector<float> block(static_cast<size_t>(block_rows * columns * channels), 1e9f);
        std::copy(values.begin() + row * columns * channels, values.begin() + end * columns * channels,
                  block.begin());
        storage.push_back(std::move(block));
      }
    }
    for (std::vector<float>& block : storage) view.blocks.push_back(block.data());
  }
};

TEST_CASE("attention over blocks is the softmax over all positions") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{24}));
  CAPTURE(seed);
  start_libraries(2);
  LimitedPool pool(int64_t{64} << 20);
  Random random(seed);
  const int64_t items = random.integer(1, 2), channels = 8 * random.integer(1, 4), value_channels = channels;
  const int64_t rows = random.integer(1, 12), columns = random.integer(1, 11);
  const int64_t query_rows = random.integer(1, 3);
  const double sharpness =
      random.pick<double>({0.3, 1, 6});  // from nearly even weights to nearly one-hot ones
  CAPTURE(items, channels, rows, columns, query_rows, sharpness);
  const auto draw = [&](int64_t count, double spread) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(random.uniform(-spread, spread));
    return values;
  };
  const std::vector<float> keys = draw(items * rows * columns * channels, sharpness);
  const std::vector<float> values = draw(items * rows * columns * value_channels, 1);
  Tile queries = make_tile(pool, {{0, 1}, {0, query_rows}, {0, columns}}, channels, items);
  const std::vector<float> query_values = draw(items * query_rows * columns * channels, sharpness);
  std::copy(query_values.begin(), query_values.end(), queries.values.get());

  std::vector<double> expected;
  for (int64_t item = 0; item < items; ++item) {
    for (int64_t q = 0; q < query_rows * columns; ++q) {
      const float* query = query_values.data() + (item * query_rows * columns + q) * channels;
      std::vector<double> scores;
      double largest = -HUGE_VAL, total = 0;
      for (int64_t k = 0; k < rows * columns; ++k) {
        double dot = 0;
        for (int64_t c = 0; c < channels; ++c) {
          dot += double(query[c]) *
                 double(keys[static_cast<size_t>((item * rows * columns + k) * channels + c)]);
        }
        scores.push_back(dot / std::sqrt(double(channels)));
        largest = std::max(largest, scores.back());
      }
      for (double& score : scores) total += score = std::exp(score - largest);
      for (int64_t c = 0; c < value_channels; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < rows * columns; ++k) {
          sum += scores[static_cast<size_t>(k)] / total *
                 double(values[static_cast<size_t>((item * rows * columns + k) * value_channels + c)]);
        }
        expected.push_back(sum);
      }
    }
  }
  for (const int64_t block_rows : {int64_t{1}, int64_t{2}, int64_t{5}, rows}) {
    CAPTURE(block_rows);
    const Blocks key_blocks(keys, items, rows, columns, channels, block_rows);
    const Blocks value_blocks(values, items, rows, columns, value_channels, block_rows);
    const Tile result = testing::attended(pool, queries, key_blocks.view, value_blocks.view);
    REQUIRE(result.value_count() == static_cast<int64_t>(expected.size()));
    CHECK(result.region == queries.region);
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(double(result.values.get()[i]) - expected[i]));
    }
    CHECK(largest < 5e-6);
  }
}

TEST_CASE(
    "attention over keys and values in 16 bits is that over the values they hold, within its workspace") {
  const Dtype dtype = GENERATE(Dtype::bf16, Dtype::fp16);
  const int64_t block_rows = GENERATE(int64_t{50}, int64_t{31});
  CAPTURE(name_of(dtype), block_rows);
  start_libraries(2);
  Random random(77);
  // Several chunks of keys in a block.
  const int64_t rows = 50, columns = 100, channels = 16, query_rows = 2;
  REQUIRE(block_rows * columns > 2 * attention_work(1, rows * columns, channels).chunk);
  const auto draw = [&](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
    kernels::round_to(dtype, values.data(), count);
    return values;
  };
  const std::vector<float> keys = draw(rows * columns * channels), values = draw(rows * columns * channels);
  Graph graph;
  const TensorId latent = graph.add_latent(channels);
  const TensorId q = graph.conv("q", latent, channels, {1, 1, 1}),
                 k = graph.conv("k", latent, channels, {1, 1, 1}),
                 v = graph.conv("v", latent, channels, {1, 1, 1});
  graph.set_output(graph.attention("attention", q, k, v));
  const MemoryModel memory = planner::cpu_memory_model(graph, 2);
  const Extent tile{1, query_rows, columns};
  const int64_t result_bytes =
      allocated_bytes(positions(tile) * channels * int64_t{sizeof(float)}, DeviceKind::cpu);
  LimitedPool pool(int64_t{64} << 20);
  Tile queries = make_tile(pool, {{0, 1}, {0, query_rows}, {0, columns}}, channels, 1);
  const std::vector<float> query_values = draw(query_rows * columns * channels);
  std::copy(query_values.begin(), query_values.end(), queries.values.get());
  const auto stored = [&](const std::vector<float>& all) {
    KeptMap map(KeptTensor{.block_rows = block_rows}, {1, rows, columns}, channels, 1, dtype,
                [&](int64_t bytes, const InSeries&) { return pool.take(bytes); });
    map.acquire({0, map.blocks_per_item()});
    for (int64_t y = 0; y < rows; ++y)
      kernels::narrow(dtype, all.data() + y * columns * channels, map.view().place({0, 0, y}, 0),
                      columns * channels);
    return map;
  };
  const KeptMap key_map = stored(keys), value_map = stored(values);
  const int64_t before = pool.live_bytes();
  pool.start_window();
  const Tile narrow = testing::attended(pool, queries, key_map.view(), value_map.view());
  CHECK(pool.window_peak_bytes() - before <=
        result_bytes + memory.workspace_bytes(graph.op(graph.find_op("attention")),
                                              ConvolutionAlgorithm::direct, tile,
                                              {{1, rows, columns}, 1, dtype}));
  const Blocks wide_keys(keys, 1, rows, columns, channels, rows),
      wide_values(values, 1, rows, columns, channels, rows);
  const Tile wide = testing::attended(pool, queries, wide_keys.view, wide_values.view);
  for (int64_t i = 0; i < wide.value_count(); ++i) {
    REQUIRE(narrow.values.get()[i] == Approx(wide.values.get()[i]).epsilon(1e-4).margin(1e-6));
  }
}

}  // namespace
}  // namespace headroom
