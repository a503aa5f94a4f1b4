#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "decoder/cpu/attention.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/interpreter/kept_blocks.h"
#include "decoder/operations/attention.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "decoder/session/environment.h"
#include "planner/cost/device_costs.h"
#include "tests/support/attended.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::Random;

/// Queries, keys and values of a clip as plain arrays: item by item, frame by frame, channels last.
struct Clip {
  int64_t items, frames, rows, columns, channels;
  Dtype dtype;
  std::vector<float> queries, keys, values;

  Clip(Random& random, const Extent& extent, int64_t item_count, int64_t channel_count, Dtype stored,
       double sharpness)
      : items(item_count),
        frames(extent.t),
        rows(extent.y),
        columns(extent.x),
        channels(channel_count),
        dtype(stored) {
    queries = draw(random, sharpness);
    keys = draw(random, sharpness);
    values = draw(random, 1);
  }

  int64_t tokens() const { return frames * rows * columns; }
  Extent extent() const { return {frames, rows, columns}; }
  int64_t place(const Row& row, int64_t x) const {
    return (((row.item * frames + row.t) * rows + row.y) * columns + x) * channels;
  }

  /// Softmax over the scores of all tokens for the queries in `region`. Masked keys have the score minus
  /// infinity, as in diffusers.
  std::vector<double> masked_softmax(AttentionFrames rule, const Region& region) const {
    std::vector<double> expected;
    each_row(region, [&](const Row& row) {
      const auto first = static_cast<size_t>(row.item * tokens() * channels);
      for (int64_t x = region.x.begin; x < region.x.end; ++x) {
        const float* query = queries.data() + place(row, x);
        std::vector<double> scores;
        for (int64_t k = 0; k < tokens(); ++k) {
          const int64_t frame = k / (rows * columns);
          const bool counts = rule == AttentionFrames::all || frame == row.t ||
                              (rule == AttentionFrames::up_to_own && frame < row.t);
          double dot = 0;
          for (int64_t c = 0; c < channels; ++c)
            dot += double(query[c]) * double(keys[first + static_cast<size_t>(k * channels + c)]);
          scores.push_back(counts ? dot : -HUGE_VAL);
        }
        const double largest = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        for (double& score : scores) total += score = std::exp(score - largest);
        for (int64_t c = 0; c < channels; ++c) {
          double sum = 0;
          for (int64_t k = 0; k < tokens(); ++k)
            sum += scores[static_cast<size_t>(k)] / total *
                   double(values[first + static_cast<size_t>(k * channels + c)]);
          expected.push_back(sum);
        }
      }
    });
    return expected;
  }

  /// No score's terms, without their signs, add up to more (Cauchy and Schwarz).
  double most_of_a_score() const { return longest(queries) * longest(keys); }

  KeptMap stored(LimitedPool& pool, const std::vector<float>& all, int64_t block_rows) const {
    KeptMap map(KeptTensor{.block_rows = block_rows}, whole(extent()), channels, items, dtype,
                [&](size_t, int64_t bytes, const InSeries&) { return pool.take(bytes); });
    map.acquire({0, map.view().blocks_per_item});
    each_row({{0, frames}, {0, rows}, {0, columns}}, [&](const Row& row) {
      kernels::narrow(dtype, all.data() + place(row, 0), map.view().place(row, 0), columns * channels);
    });
    return map;
  }

  Tile queries_of(LimitedPool& pool, const Region& region) const {
    Tile tile = make_tile(pool, region, channels, items);
    const MapView view = tile.view();
    each_row(region, [&](const Row& row) {
      std::copy_n(queries.begin() + place(row, region.x.begin), region.x.length() * channels,
                  view.at(row, region.x.begin));
    });
    return tile;
  }

  template <typename F>
  void each_row(const Region& region, const F& f) const {
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t t = region.t.begin; t < region.t.end; ++t) {
        for (int64_t y = region.y.begin; y < region.y.end; ++y) f(Row{item, t, y});
      }
    }
  }

 private:
  /// The norm of that position which has the largest.
  double longest(const std::vector<float>& all) const {
    double most = 0;
    for (size_t first = 0; first < all.size(); first += static_cast<size_t>(channels)) {
      double squares = 0;
      for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
        squares += double(all[first + c]) * double(all[first + c]);
      most = std::max(most, squares);
    }
    return std::sqrt(most);
  }

  std::vector<float> draw(Random& random, double spread) const {
    std::vector<float> drawn(static_cast<size_t>(items * tokens() * channels));
    for (float& value : drawn) value = static_cast<float>(random.uniform(-spread, spread));
    kernels::round_to(dtype, drawn.data(), static_cast<int64_t>(drawn.size()));
    return drawn;
  }
};

/// Some of the positions along one axis.
Interval part_of(Random& random, int64_t length) {
  const int64_t begin = random.integer(0, length - 1);
  return {begin, random.integer(begin + 1, length)};
}

/// The largest error of the queries in a region.
double error_of(const Clip& clip, AttentionFrames rule, const Tile& result) {
  const std::vector<double> expected = clip.masked_softmax(rule, result.region);
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(double(result.values.get()[i]) - expected[i]));
  return worst;
}

TEST_CASE("attention is the softmax over the keys that count, whatever the tiles and blocks") {
  const AttentionFrames rule =
      GENERATE(AttentionFrames::each, AttentionFrames::up_to_own, AttentionFrames::all);
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{30}));
  Random random(seed);
  start_libraries(2);
  LimitedPool pool(int64_t{256} << 20);
  const Extent extent{random.integer(1, 5), random.integer(1, 11), random.integer(1, 13)};
  const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::fp32, Dtype::bf16, Dtype::fp16});
  const double sharpness = random.pick<double>({0.3, 1, 6});
  const Clip clip(random, extent, random.integer(1, 2), random.integer(1, 40), dtype, sharpness);
  CAPTURE(seed, extent.t, extent.y, extent.x, clip.items, clip.channels, name_of(dtype), sharpness);
  const KeptMap keys = clip.stored(pool, clip.keys, random.integer(1, extent.y)),
                values = clip.stored(pool, clip.values, random.integer(1, extent.y));
  const Tile result =
      testing::attended(pool, clip.queries_of(pool, whole(extent)), keys.view(), values.view(), rule);
  // A score is off by roundings of its size, and the weight of its value, which is at most 1, by as large a
  // share.
  constexpr double kRounding = 0x1p-24;
  CHECK(error_of(clip, rule, result) < 1e-6 + kRounding * clip.most_of_a_score());
  for (int tile = 0; tile < 6; ++tile) {
    const Region region{part_of(random, extent.t), part_of(random, extent.y), part_of(random, extent.x)};
    CAPTURE(region.t.begin, region.t.end, region.y.begin, region.y.end, region.x.begin, region.x.end);
    const Tile part =
        testing::attended(pool, clip.queries_of(pool, region), keys.view(), values.view(), rule);
    bool same = true;
    clip.each_row(region, [&](const Row& row) {
      const float* found = part.view().at(row, region.x.begin);
      same = same && std::equal(found, found + region.x.length() * clip.channels,
                                result.view().at(row, region.x.begin));
    });
    CHECK(same);
  }
}

TEST_CASE("keys of many frames take no more workspace than is planned, and that does not grow with them") {
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const auto block_rows = GENERATE(int64_t{5}, int64_t{50});
  CAPTURE(name_of(dtype), block_rows);
  start_libraries(2);
  Random random(5);
  const Extent tile{2, 2, 100};
  constexpr int64_t kRows = 50, kColumns = 100, kChannels = 16;
  // Several chunks of keys in a large block.
  REQUIRE(50 * kColumns > 2 * attention_work(1, kRows * kColumns, kChannels).chunk);
  Graph graph;
  const TensorId latent = graph.add_latent(kChannels);
  graph.set_output(graph.attention("attention", latent, latent, latent, AttentionFrames::up_to_own));
  const MemoryModel memory = planner::cpu_memory_model(graph, 2);
  const auto planned = [&](int64_t frames) {
    return memory.workspace_bytes(graph.ops()[0], ConvolutionAlgorithm::direct, tile,
                                  {{frames, kRows, kColumns}, 1, dtype});
  };
  LimitedPool pool(int64_t{256} << 20);
  const Clip clip(random, {3, kRows, kColumns}, 1, kChannels, dtype, 1);
  const KeptMap keys = clip.stored(pool, clip.keys, block_rows),
                values = clip.stored(pool, clip.values, block_rows);
  const Tile queries = clip.queries_of(pool, {{1, 3}, {0, tile.y}, {0, tile.x}});
  const int64_t before = pool.live_bytes();
  pool.start_window();
  const Tile result =
      testing::attended(pool, queries, keys.view(), values.view(), AttentionFrames::up_to_own);
  const int64_t result_bytes =
      cpu_storage().allocated_bytes(positions(tile) * kChannels * int64_t{sizeof(float)});
  CHECK(pool.window_peak_bytes() - before <= result_bytes + planned(3));
  CHECK(error_of(clip, AttentionFrames::up_to_own, result) < 1e-5);
  CHECK(planned(2) == planned(129));
}

}  // namespace
}  // namespace headroom
