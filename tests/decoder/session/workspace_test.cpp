
#include <catch2/catch.hpp>

#include "decoder/base/os/process_memory.h"
#include "decoder/cpu/attention.h"
#include "decoder/cpu/convolution.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/storage.h"
#include "decoder/session/environment.h"
#include "planner/cost/device_costs.h"
#include "tests/support/attended.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

MapView whole_map(const Tile& tile) {
  MapView view = tile.view();
  view.block_rows = tile.region.y.length();
  return view;
}

TEST_CASE("attention takes from the pool what the formula says") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{16}));
  test::Random random(seed);
  const int threads = random.pick<int>({1, 2, 3});
  const int64_t query_rows = random.pick<int64_t>({1, 5, 6, 23, 24, 25, 40});
  const int64_t key_rows = random.integer(query_rows, 48), columns = 32;
  const int64_t channels = 16 * random.integer(1, 8);
  CAPTURE(seed, threads, query_rows, key_rows, channels);
  start_libraries(threads);
  LimitedPool pool(64 * kMiB);
  {
    Tile queries = make_tile(pool, {{0, 1}, {0, query_rows}, {0, columns}}, channels, 1);
    Tile keys = make_tile(pool, {{0, 1}, {0, key_rows}, {0, columns}}, channels, 1);
    std::fill_n(queries.values.get(), queries.value_count(), 0.0f);
    std::fill_n(keys.values.get(), keys.value_count(), 0.0f);
    const int64_t before = pool.live_bytes();
    pool.start_window();
    const Tile result = testing::attended(pool, queries, whole_map(keys), whole_map(keys));
    const int64_t measured = pool.window_peak_bytes() - before;
    const int64_t count = query_rows * columns;
    const int64_t floats = attention_work(count, key_rows * columns, channels).floats(threads);
    const int64_t expected = cpu_storage().allocated_bytes(count * channels * int64_t{sizeof(float)}) +
                             cpu_storage().allocated_bytes(floats * int64_t{sizeof(float)});
    CHECK(measured == expected);
  }
  start_libraries(2);
}

TEST_CASE("convolutions take from the pool no more than the formula says") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{40}));
  test::Random random(seed);
  const auto threads = static_cast<int>(random.integer(1, 4));
  const int64_t items = random.integer(1, 2);
  Graph graph;
  const TensorId latent = graph.add_latent(random.pick<int64_t>({1, 16, 64, 130}));
  const auto outputs = random.pick<int64_t>({1, 40, 128, 150});
  graph.set_output(random.chance(0.3) ? graph.upsampled_conv("conv", latent, outputs)
                                      : graph.conv("conv", latent, outputs, {1, 3, 3}));
  const Op& op = graph.ops()[0];
  const Region region{{0, 1}, {2, 2 + random.integer(1, 21)}, {3, 3 + random.integer(1, 40)}};
  const KernelShape shape = kernel_shape(graph, op);
  const ConvolutionAlgorithm algorithm = algorithm_of(shape, ConvolutionAlgorithm::winograd);
  CAPTURE(seed, threads, items, shape.inputs, shape.outputs, region.y.end, region.x.end);
  start_libraries(threads);
  LimitedPool pool(256 * kMiB);
  {
    const std::vector<float> zeros(static_cast<size_t>(shape.floats(algorithm)), 0.0f);
    const Tile input = make_tile(pool, needed_region(op, region), shape.inputs, items),
               target = make_tile(pool, region, shape.outputs, items);
    std::fill_n(input.values.get(), input.value_count(), 0.0f);
    const int64_t before = pool.live_bytes();
    pool.start_window();
    convolve(pool,
             {input.view(), {shape, algorithm, zeros.data(), zeros.data()}, target.view(), region, items});
    const int64_t bytes = convolution_workspace_bytes(shape, algorithm, extent_of(region), items, threads);
    CHECK(pool.window_peak_bytes() - before <= cpu_storage().allocated_bytes(bytes));
  }
  start_libraries(2);
}

TEST_CASE("convolutions of many shapes leave less behind outside the pool than the reserve") {
  if (test::kSanitized) return;  // AddressSanitizer keeps freed memory resident
  start_libraries(2);
  LimitedPool pool(64 * kMiB);
  const Model model = test::model_of(test::tiny_config({16, 32}));
  const int64_t reserve = planner::cpu_memory_model(model.graph).reserve_bytes;
  const KernelShape shape{32, 32, 3, 3};
  const std::vector<float> zeros(static_cast<size_t>(shape.floats(ConvolutionAlgorithm::winograd)), 0.0f);
  const float* values = zeros.data();
  REQUIRE(reset_peak_resident());
  const int64_t before = resident_bytes();
  for (int64_t rows = 3; rows < 23; ++rows) {
    for (int64_t columns = 3; columns < 33; ++columns) {
      Tile input = make_tile(pool, {{0, 1}, {0, rows}, {0, columns}}, 32, 1);
      std::fill_n(input.values.get(), input.value_count(), 0.0f);
      const Region region{{0, 1}, {1, rows - 1}, {1, columns - 1}};
      for (ConvolutionAlgorithm algorithm : {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd})
        convolve(pool, {input.view(),
                        {shape, algorithm, values, values},
                        make_tile(pool, region, 32, 1).view(),
                        region});
    }
  }
  // The process must not cache something for each of the 600 shapes.
  CHECK(peak_resident_bytes() - before - pool.peak_resident_bytes() < reserve / 2);
}

}  // namespace
}  // namespace headroom
