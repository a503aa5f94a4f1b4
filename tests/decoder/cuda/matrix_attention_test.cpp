#include "decoder/cuda/matrix_attention.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "decoder/kernels/gpu/workspace.h"
#include "decoder/kernels/storage.h"
#include "tests/support/random.h"

namespace headroom::gpu {
namespace {

using test::Random;

/// A view of one frame or more and its memory, in 16 bits.
struct Held {
  View view;
  std::vector<uint16_t> values;

  Held(const Box& region, int32_t channels, int32_t block_rows, Dtype dtype) {
    view.region = region;
    view.channels = channels;
    view.block_rows = block_rows;
    view.dtype = dtype;
    view.blocks = (region.y.end - region.y.begin + block_rows - 1) / block_rows;
    const int64_t block =
        int64_t{region.t.end - region.t.begin} * block_rows * (region.x.end - region.x.begin) * channels;
    const auto units = static_cast<uint32_t>((block * 2 + kBlockUnit - 1) / kBlockUnit);
    for (int32_t b = 0; b < view.blocks; ++b)
      view.block_units[b] = units * static_cast<uint32_t>(view.blocks - 1 - b);
    values.resize(static_cast<size_t>(view.blocks) * units * kBlockUnit / 2);
    view.base = reinterpret_cast<std::byte*>(values.data());
  }
  Held(const Held&) = delete;

  uint16_t& at(int32_t t, int32_t y, int32_t x, int32_t channel) {
    const Box& region = view.region;
    const int32_t row = y - region.y.begin;
    const int64_t in_block = int64_t{t - region.t.begin} * view.block_rows + row % view.block_rows;
    auto* block = values.data() + view.block_units[row / view.block_rows] * kBlockUnit / 2;
    return block[(in_block * (region.x.end - region.x.begin) + x - region.x.begin) * view.channels + channel];
  }
  float value(int32_t t, int32_t y, int32_t x, int32_t channel) {
    float result = 0;
    kernels::widen(view.dtype, &at(t, y, x, channel), &result, 1);
    return result;
  }
  void fill(Random& random, double most) {
    for (uint16_t& to : values) {
      const auto value = static_cast<float>(random.uniform(-most, most));
      kernels::narrow(view.dtype, &value, &to, 1);
    }
  }
};

/// Plain loops.
class PlainProducts : public MatrixProducts {
 public:
  int products = 0;

  void multiply(const MatrixProduct& p, void*, int64_t) override {
    ++products;
    const auto* a = static_cast<const uint16_t*>(p.a);
    const auto* b = static_cast<const uint16_t*>(p.b);
    const auto widened = [&](const uint16_t* from) {
      float value = 0;
      kernels::widen(p.dtype, from, &value, 1);
      return double{value};
    };
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        double sum = p.add ? p.to[i * p.to_row + j] : 0;
        for (int64_t k = 0; k < p.depth; ++k)
          sum +=
              widened(a + i * p.a_row + k) * widened(b + (p.transposed ? j * p.b_row + k : k * p.b_row + j));
        p.to[i * p.to_row + j] = static_cast<float>(sum);
      }
    }
  }
};

int32_t length(const Span& span) {
  return span.end - span.begin;
}

/// softmax(q kᵀ * scale) v of one query, in double.
std::vector<double> expected(Held& keys, Held& values, int32_t frame, float scale,
                             const std::vector<double>& query) {
  const Box& region = keys.view.region;
  std::vector<double> scores;
  for (int32_t y = region.y.begin; y < region.y.end; ++y) {
    for (int32_t x = region.x.begin; x < region.x.end; ++x) {
      double score = 0;
      for (size_t c = 0; c < query.size(); ++c)
        score += query[c] * keys.value(frame, y, x, static_cast<int32_t>(c));
      scores.push_back(score * double{scale});
    }
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> result(static_cast<size_t>(values.view.channels));
  double weights = 0;
  size_t i = 0;
  for (int32_t y = region.y.begin; y < region.y.end; ++y) {
    for (int32_t x = region.x.begin; x < region.x.end; ++x) {
      const double weight = std::exp(scores[i++] - largest);
      weights += weight;
      for (size_t c = 0; c < result.size(); ++c)
        result[c] += weight * values.value(frame, y, x, static_cast<int32_t>(c));
    }
  }
  for (double& value : result) value /= weights;
  return result;
}

TEST_CASE("attention by matrix products in chunks") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{40}));
  Random random(seed);
  const Dtype dtype = random.pick<Dtype>({Dtype::fp16, Dtype::bf16});
  const auto extent = [&](int64_t least, int64_t most) {
    return static_cast<int32_t>(random.integer(least, most));
  };
  const int32_t depth = extent(1, 9), channels = extent(1, 300);
  const Span frames{extent(0, 2), 3};
  const Box queried{frames, {extent(0, 5), extent(6, 24)}, {extent(0, 5), extent(6, 24)}};
  const Box whole{frames, {0, extent(1, 30)}, {0, extent(1, 25)}};
  Held queries(queried, depth, random.chance(0.5) ? length(queried.y) : extent(1, 5), dtype);
  Held keys(whole, depth, extent(1, 30), dtype), values(whole, channels, extent(1, 30), dtype);
  Box around = queried;
  around.t = {0, 3};
  around.x.end += extent(0, 1);
  Held target(around, channels, extent(1, 30), dtype);
  // Scores from nearly alike to far apart; exponents of either sign, rising and falling from chunk to chunk.
  const double most = random.pick<double>({0.5, 4, 30});
  queries.fill(random, most);
  keys.fill(random, 1);
  values.fill(random, 1);

  Attend call;
  call.queries = queries.view;
  call.keys = keys.view;
  call.values = values.view;
  call.target = target.view;
  call.query_frame = call.key_frame = frames.begin;
  call.target_frame = extent(0, 2);
  call.scale = static_cast<float>(random.uniform(0.1, 1));
  const int64_t count = int64_t{length(queried.y)} * length(queried.x),
                key_count = int64_t{length(whole.y)} * length(whole.x);
  const AttentionChunks smallest{std::min(count, kSmallestAttentionChunks.queries),
                                 std::min(key_count, kSmallestAttentionChunks.keys)};
  const int64_t least = smallest.layout(channels).end,
                full = attention_workspace_bytes(count, key_count, channels, dtype);
  std::vector<std::byte> workspace(
      static_cast<size_t>(random.pick<int64_t>({least, random.integer(least, full), full})));
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  CAPTURE(seed, name_of(dtype), depth, channels, count, key_count, most, call.workspace_bytes, least, full);

  PlainProducts products;
  REQUIRE(attend_by_matrices(call, products, nullptr));
  double worst = 0;
  for (int32_t y = queried.y.begin; y < queried.y.end; ++y) {
    for (int32_t x = queried.x.begin; x < queried.x.end; ++x) {
      std::vector<double> query;
      for (int32_t c = 0; c < depth; ++c) query.push_back(queries.value(frames.begin, y, x, c));
      const std::vector<double> means = expected(keys, values, frames.begin, call.scale, query);
      for (int32_t c = 0; c < channels; ++c)
        worst = std::max(worst,
                         std::abs(means[static_cast<size_t>(c)] - target.value(call.target_frame, y, x, c)));
    }
  }
  // Weights and results are rounded once each.
  CHECK(worst < 1.1 * (dtype == Dtype::fp16 ? 0x1p-11 : 0x1p-8));
}

TEST_CASE("what matrix products cannot do is left to others") {
  Held held({{0, 1}, {0, 4}, {0, 4}}, 8, 4, Dtype::fp16);
  std::vector<std::byte> workspace(1 << 20);
  Attend call;
  call.queries = call.keys = call.values = call.target = held.view;
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  PlainProducts products;
  CHECK_FALSE(attend_by_matrices(call, products, nullptr));  // too little workspace
  workspace.resize(static_cast<size_t>(attention_workspace_bytes(16, 16, 8, Dtype::fp16)));
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  CHECK(attend_by_matrices(call, products, nullptr));
  call.frames = AttentionFrames::interleaved;
  CHECK_FALSE(attend_by_matrices(call, products, nullptr));
  call.frames = AttentionFrames::each;
  call.values.dtype = Dtype::bf16;
  CHECK_FALSE(attend_by_matrices(call, products, nullptr));
}

TEST_CASE("workspace of attention by chunks") {
  // SDXL at 1024×1024.
  CHECK(attention_workspace_bytes(16384, 16384, 512, Dtype::fp16) < int64_t{50} << 20);
  CHECK(attention_workspace_bytes(16384, 16384, 512, Dtype::fp32) == 0);
  const AttentionChunks full = attention_chunks(16384, 16384, 512, int64_t{1} << 30);
  CHECK(full.queries == 4096);
  CHECK(full.keys == 2048);
  const AttentionChunks less = attention_chunks(16384, 16384, 512, int64_t{24} << 20);
  CHECK(less.queries == 1024);
  CHECK(less.keys == 2048);
  CHECK(less.layout(512).end <= int64_t{24} << 20);
  CHECK(attention_chunks(16384, 16384, 512, int64_t{8} << 20).queries == 0);
}

}  // namespace
}  // namespace headroom::gpu
