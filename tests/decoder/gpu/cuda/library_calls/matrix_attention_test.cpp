#include "decoder/gpu/cuda/library_calls/matrix_attention.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "decoder/gpu/calls/workspace.h"
#include "tests/support/plain_attention.h"
#include "tests/support/sanitized.h"

namespace headroom::gpu {
namespace {

using test::HeldView;
using test::length;
using test::Random;

/// Plain loops.
class PlainProducts : public MatrixProducts {
 public:
  int products = 0;
  int prepared = 0;
  int refused = -1;  ///< the product, counted from 0, that cannot be computed

  bool prepare(const MatrixProduct& p, int64_t) override {
    CHECK(products == 0);
    // Rows of results begin where kernels that store 16 bytes at once can store them, if there are that many.
    if (p.transposed && p.columns >= 8) CHECK(p.to_row % 8 == 0);
    return prepared++ != refused;
  }

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

TEST_CASE("attention by matrix products in chunks") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{40}, test::kSeedStep));
  Random random(seed);
  const Dtype dtype = random.pick<Dtype>({Dtype::fp16, Dtype::bf16});
  const auto extent = [&](int64_t least, int64_t most) {
    return static_cast<int32_t>(random.integer(least, most));
  };
  const int32_t depth = extent(1, 9), channels = extent(1, 300);
  const Span frames{extent(0, 2), 3};
  const Box queried{frames, {extent(0, 5), extent(6, 24)}, {extent(0, 5), extent(6, 24)}};
  const Box whole{frames, {0, extent(1, 30)}, {0, extent(1, 25)}};
  HeldView queries(queried, depth, random.chance(0.5) ? length(queried.y) : extent(1, 5), dtype);
  HeldView keys(whole, depth, extent(1, 30), dtype), values(whole, channels, extent(1, 30), dtype);
  Box around = queried;
  around.t = {0, 3};
  around.x.end += extent(0, 1);
  HeldView target(around, channels, extent(1, 30), dtype);
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
  CHECK(products.products == products.prepared);
  double worst = 0;
  for (int32_t y = queried.y.begin; y < queried.y.end; ++y) {
    for (int32_t x = queried.x.begin; x < queried.x.end; ++x) {
      std::vector<double> query;
      for (int32_t c = 0; c < depth; ++c) query.push_back(queries.value(frames.begin, y, x, c));
      const std::vector<double> means =
          test::plain_attention(query, keys, values, frames.begin, double{call.scale});
      for (int32_t c = 0; c < channels; ++c)
        worst = std::max(worst,
                         std::abs(means[static_cast<size_t>(c)] - target.value(call.target_frame, y, x, c)));
    }
  }
  // Weights and results are rounded once each.
  CHECK(worst < 1.1 * (dtype == Dtype::fp16 ? 0x1p-11 : 0x1p-8));
}

TEST_CASE("what matrix products cannot do is left to others") {
  HeldView held({{0, 1}, {0, 4}, {0, 4}}, 8, 4, Dtype::fp16);
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

TEST_CASE("attention is started only where all of its products can be computed") {
  // Two chunks of keys; values in two blocks, the second of which begins within a chunk.
  HeldView queries({{0, 1}, {0, 16}, {0, 16}}, 8, 16, Dtype::bf16),
      keys({{0, 1}, {0, 16}, {0, 27}}, 8, 16, Dtype::bf16),
      values({{0, 1}, {0, 16}, {0, 27}}, 8, 11, Dtype::bf16),
      target({{0, 1}, {0, 16}, {0, 16}}, 8, 16, Dtype::bf16);
  constexpr float kBefore = 77;
  target.fill(kBefore);
  Attend call;
  call.queries = queries.view;
  call.keys = keys.view;
  call.values = values.view;
  call.target = target.view;
  std::vector<std::byte> workspace(
      static_cast<size_t>(kSmallestAttentionChunks.layout(queries.view.channels).end));
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  PlainProducts all;
  REQUIRE(attend_by_matrices(call, all, nullptr));
  REQUIRE(all.products == 5);
  target.fill(kBefore);
  for (int refused = 0; refused < all.products; ++refused) {
    PlainProducts products;
    products.refused = refused;
    CHECK_FALSE(attend_by_matrices(call, products, nullptr));
    CHECK(products.products == 0);
    CHECK(target.value(0, 0, 0, 0) == kBefore);
  }
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
