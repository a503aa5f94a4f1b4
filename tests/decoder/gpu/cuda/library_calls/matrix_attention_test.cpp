#include "decoder/gpu/cuda/library_calls/matrix_attention.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "decoder/gpu/calls/workspace.h"
#include "tests/emulated_gpu/hazards.h"
#include "tests/support/plain_attention.h"
#include "tests/support/sanitized.h"

namespace headroom::gpu {
namespace {

using test::HeldView;
using test::length;
using test::Random;

/// Bytes of rows, each apart.
void add_rows(std::vector<Access>& accesses, const void* begin, int64_t rows, int64_t row_bytes,
              int64_t bytes, bool writes) {
  for (int64_t row = 0; row < rows; ++row)
    accesses.push_back({static_cast<const std::byte*>(begin) + row * row_bytes, bytes, writes});
}

/// Plain loops and the kernels, each as soon as it is asked for; whatever order two streams may choose
/// between events would give the same.
class PlainAttention : public MatrixProducts, public AttentionStreams {
 public:
  int products = 0;
  int refused = -1;  ///< the choice, counted from 0, that cannot be made
  int64_t multiprocessors = 132;
  bool computes = true;  ///< else notes what is asked for
  bool finds_hazards = true;
  int dropped = -1;  ///< the wait, counted from 0, that is left out
  int waits = 0;
  std::vector<ProductShape> chosen;
  int64_t ended = 0;  ///< of the latest stream, if each step takes one unit of time

  std::optional<Choice> choose(const ProductShape& shape, int64_t) override {
    CHECK(products == 0);
    // Rows of results begin where kernels that store 16 bytes at once can store them.
    if (shape.transposed) CHECK(shape.to_row % 8 == 0);
    CHECK(std::find(chosen.begin(), chosen.end(), shape) == chosen.end());
    chosen.push_back(shape);
    if (static_cast<int>(chosen.size()) - 1 == refused) return std::nullopt;
    return chosen.size() - 1;
  }

  void multiply(const MatrixProduct& p, Choice choice, void*, int64_t) override {
    ++products;
    if (chosen.at(choice) != shape_of(p)) throw std::logic_error("not what was chosen");
    work(Stream::compute, "product", [&](std::vector<Access>& accesses) {
      const int64_t value = bytes_per_element(p.dtype);
      add_rows(accesses, p.a, p.rows, p.a_row * value, p.depth * value, false);
      add_rows(accesses, p.b, p.transposed ? p.columns : p.depth, p.b_row * value,
               (p.transposed ? p.depth : p.columns) * value, false);
      add_rows(accesses, p.to, p.rows, p.to_row * 4, p.columns * 4, true);
    });
    if (computes) compute(p);
  }

  int64_t processors() const override { return multiprocessors; }
  void weigh(const SoftmaxChunk& call) override {
    work(Stream::beside_compute, "weigh", [&](std::vector<Access>& accesses) {
      add_rows(accesses, call.scores, call.queries, call.row * 4, call.row * 4, true);
      for (const float* list : {call.largest, call.weights, call.factors})
        add_rows(accesses, list, 1, 0, call.queries * 4, true);
    });
    if (computes) gpu::weigh(call, nullptr);
  }
  void rescale(const RescaleSums& call) override {
    work(Stream::beside_compute, "rescale", [&](std::vector<Access>& accesses) {
      add_rows(accesses, call.sums, 1, 0, call.queries * call.channels * 4, true);
      add_rows(accesses, call.factors, 1, 0, call.queries * 4, false);
    });
    if (computes) gpu::rescale(call, nullptr);
  }
  void store(const StoreWeightedMeans& call) override {
    work(Stream::compute, "store", [&](std::vector<Access>& accesses) {
      add_rows(accesses, call.sums, 1, 0, call.count * call.target.channels * 4, false);
      add_rows(accesses, call.weights, 1, 0, call.count * 4, false);
    });
    if (computes) store_weighted_means(call, nullptr);
  }

  Event record(Stream stream) override {
    recorded_.push_back(time_[static_cast<size_t>(stream)]);
    return hazards_.record(stream);
  }
  void wait(Stream stream, Event event) override {
    if (waits++ == dropped) return;
    hazards_.wait(stream, event);
    int64_t& now = time_[static_cast<size_t>(stream)];
    now = std::max(now, recorded_.at(static_cast<size_t>(event)));
  }

  /// Overwrites the memory as a later call would, on the compute stream alone.
  void clear(std::vector<std::byte>& memory) {
    work(Stream::compute, "clear", [&](std::vector<Access>& accesses) {
      accesses.push_back({memory.data(), static_cast<int64_t>(memory.size()), true});
    });
  }

 private:
  template <typename Touch>
  void work(Stream stream, const char* name, const Touch& touch) {
    ended = std::max(ended, ++time_[static_cast<size_t>(stream)]);
    if (!finds_hazards) return;
    std::vector<Access> accesses;
    touch(accesses);
    hazards_.work(stream, name, accesses);
  }

  static void compute(const MatrixProduct& p) {
    const auto factor = [&](const void* matrix, int64_t index) {
      float value = 0;
      kernels::widen(p.dtype, static_cast<const std::byte*>(matrix) + index * bytes_per_element(p.dtype),
                     &value, 1);
      return double{value};
    };
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        double sum = p.add ? p.to[i * p.to_row + j] : 0;
        for (int64_t k = 0; k < p.depth; ++k)
          sum += factor(p.a, i * p.a_row + k) * factor(p.b, p.transposed ? j * p.b_row + k : k * p.b_row + j);
        p.to[i * p.to_row + j] = static_cast<float>(sum);
      }
    }
  }

  Hazards hazards_;
  std::vector<int64_t> recorded_;
  std::array<int64_t, kStreams> time_{};
};

TEST_CASE("attention by matrix products in chunks") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{40}, test::kSeedStep));
  Random random(seed);
  const Dtype dtype = random.pick<Dtype>({Dtype::fp16, Dtype::bf16, Dtype::fp32});
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
  queries.fill(random, most * random.uniform(0.1, 1));
  keys.fill(random, 1);
  values.fill(random, 1);

  Attend call;
  call.queries = queries.view;
  call.keys = keys.view;
  call.values = values.view;
  call.target = target.view;
  call.query_frame = frames.begin;
  call.key_frames = {frames.begin, extent(frames.begin + 1, 3)};
  call.target_frame = extent(0, 2);
  const int64_t count = int64_t{length(queried.y)} * length(queried.x),
                key_count = int64_t{length(whole.y)} * length(whole.x), key_frames = length(call.key_frames);
  const AttentionChunks smallest{
      std::min(count, kSmallestAttentionChunks.queries), std::min(key_count, kSmallestAttentionChunks.keys),
      key_frames * key_count > std::min(key_count, kSmallestAttentionChunks.keys) ? 2 : 1};
  const int64_t full = attention_workspace_bytes(count, key_frames * key_count, channels),
                least = std::min(smallest.layout(channels).end, full);
  std::vector<std::byte> workspace(
      static_cast<size_t>(random.pick<int64_t>({least, random.integer(least, full), full})));
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  CAPTURE(seed, name_of(dtype), depth, channels, count, key_count, key_frames, most, call.workspace_bytes,
          least, full);

  PlainAttention engine;
  engine.multiprocessors = random.pick<int64_t>({132, 108, 3});
  const bool parts = key_frames > 1 && random.chance(0.7);  // a call for each frame of keys
  std::vector<float> sums(static_cast<size_t>(parts ? count * channels : 0), NAN);
  std::vector<float> largest(static_cast<size_t>(count), NAN), sum_of_weights(largest);
  if (parts) call.state = {sums.data(), largest.data(), sum_of_weights.data()};
  const Span attended = call.key_frames;
  for (int32_t frame = attended.begin; frame < attended.end; ++frame) {
    if (parts) call.key_frames = {frame, frame + 1};
    call.first = !parts || frame == attended.begin;
    call.last = !parts || frame + 1 == attended.end;
    engine.products = 0;
    engine.chosen.clear();
    REQUIRE(attend_by_matrices(call, engine, engine));
    if (!parts) break;
  }
  call.key_frames = attended;
  engine.clear(workspace);
  double worst = 0;
  for (int32_t y = queried.y.begin; y < queried.y.end; ++y) {
    for (int32_t x = queried.x.begin; x < queried.x.end; ++x) {
      std::vector<double> query;
      for (int32_t c = 0; c < depth; ++c) query.push_back(queries.value(frames.begin, y, x, c));
      const std::vector<double> means = test::plain_attention(query, keys, values, call.key_frames);
      for (int32_t c = 0; c < channels; ++c)
        worst = std::max(worst,
                         std::abs(means[static_cast<size_t>(c)] - target.value(call.target_frame, y, x, c)));
    }
  }
  // In 16 bits, weights and results are rounded once each. In fp32 most of the error comes from the scores:
  // an exponent of up to 2^8 is rounded to 2^-17.
  CHECK(worst < (dtype == Dtype::fp32 ? 1e-5 : 1.1 * (dtype == Dtype::fp16 ? 0x1p-11 : 0x1p-8)));
}

TEST_CASE("what matrix products cannot do is left to others") {
  HeldView held({{0, 1}, {0, 4}, {0, 4}}, 8, 4, Dtype::fp16);
  std::vector<std::byte> workspace(1 << 20);
  Attend call;
  call.queries = call.keys = call.values = call.target = held.view;
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  PlainAttention engine;
  CHECK_FALSE(attend_by_matrices(call, engine, engine));  // too little workspace
  workspace.resize(static_cast<size_t>(attention_workspace_bytes(16, 16, 8)));
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  CHECK(attend_by_matrices(call, engine, engine));
  call.interleaved = true;
  CHECK_FALSE(attend_by_matrices(call, engine, engine));
  call.interleaved = false;
  call.values.dtype = Dtype::bf16;
  CHECK_FALSE(attend_by_matrices(call, engine, engine));
}

TEST_CASE("attention's products may use TF32 if the call allows it, in fp32 alone") {
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16);
  HeldView held({{0, 1}, {0, 4}, {0, 4}}, 8, 4, dtype);
  held.fill(1);
  std::vector<std::byte> workspace(static_cast<size_t>(attention_workspace_bytes(16, 16, 8)));
  Attend call;
  call.queries = call.keys = call.values = call.target = held.view;
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size());
  for (const bool tf32 : {false, true}) {
    CAPTURE(name_of(dtype), tf32);
    call.tf32 = tf32;
    PlainAttention engine;
    REQUIRE(attend_by_matrices(call, engine, engine));
    REQUIRE(engine.chosen.size() == 2);
    for (const ProductShape& shape : engine.chosen) CHECK(shape.tf32 == (tf32 && dtype == Dtype::fp32));
  }
}

/// Attention whose memory nothing reads or writes.
struct NotedAttention {
  Attend call;
  std::vector<std::byte> workspace;

  NotedAttention(int32_t rows, int32_t columns, int32_t key_block_rows, int64_t workspace_bytes)
      : workspace(static_cast<size_t>(workspace_bytes)) {
    const auto view = [&](uintptr_t base, int32_t block_rows) {
      View result;
      result.base = reinterpret_cast<std::byte*>(base);
      result.region = {{0, 1}, {0, rows}, {0, columns}};
      result.channels = 512;
      result.block_rows = block_rows;
      result.blocks = (rows + block_rows - 1) / block_rows;
      result.dtype = Dtype::bf16;
      for (int32_t b = 0; b < result.blocks; ++b)
        result.block_units[b] = static_cast<uint32_t>(b * block_rows * columns * 4);
      return result;
    };
    call.queries = view(uintptr_t{1} << 40, rows);
    call.keys = view(uintptr_t{2} << 40, key_block_rows);
    call.values = view(uintptr_t{3} << 40, key_block_rows);
    call.target = view(uintptr_t{4} << 40, rows);
    call.workspace = workspace.data();
    call.workspace_bytes = workspace_bytes;
  }
};

TEST_CASE("attention is started only where all of its products can be computed") {
  // Three chunks of keys; values in two blocks, the second of which begins within a chunk.
  HeldView queries({{0, 1}, {0, 16}, {0, 16}}, 8, 16, Dtype::bf16),
      keys({{0, 1}, {0, 16}, {0, 40}}, 8, 16, Dtype::bf16),
      values({{0, 1}, {0, 16}, {0, 40}}, 8, 11, Dtype::bf16),
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
  PlainAttention all;
  REQUIRE(attend_by_matrices(call, all, all));
  REQUIRE(all.products == 7);
  REQUIRE(all.chosen.size() >= 4);
  target.fill(kBefore);
  for (int refused = 0; refused < static_cast<int>(all.chosen.size()); ++refused) {
    PlainAttention engine;
    engine.refused = refused;
    CHECK_FALSE(attend_by_matrices(call, engine, engine));
    CHECK(engine.products == 0);
    CHECK(target.value(0, 0, 0, 0) == kBefore);
  }
}

TEST_CASE("a library is asked once for each shape of attention's products, however many chunks") {
  // SDXL at 8192×8192: a million positions, keys and values in blocks of four rows.
  constexpr int64_t kPositions = 1024 * 1024;
  NotedAttention attention(1024, 1024, 4, attention_workspace_bytes(kPositions, kPositions, 512));
  PlainAttention engine;
  engine.computes = engine.finds_hazards = false;
  REQUIRE(attend_by_matrices(attention.call, engine, engine));
  CHECK(engine.products == 2 * 125 * 1024);
  // Chunks of queries are of two sizes; scores, the first sums, and those that are added.
  CHECK(engine.chosen.size() == 2 * 3);
}

TEST_CASE("frames of keys have products of the same shapes, however many") {
  // HunyuanVideo at 720p: 33 frames of 90 × 160 positions, keys and values in blocks of 8 rows, the last
  // of 2.
  constexpr int32_t kFrames = 33, kRows = 90, kColumns = 160;
  constexpr int64_t kPositions = kRows * kColumns;
  NotedAttention attention(kRows, kColumns, 8,
                           attention_workspace_bytes(kPositions, kFrames * kPositions, 512));
  for (View* view : {&attention.call.keys, &attention.call.values}) {
    view->region.t = {0, kFrames};
    for (int32_t b = 0; b < view->blocks; ++b) view->block_units[b] *= kFrames;
  }
  std::vector<size_t> shapes;
  for (const int32_t frames : {2, kFrames}) {
    attention.call.key_frames = {0, frames};
    PlainAttention engine;
    engine.computes = engine.finds_hazards = false;
    REQUIRE(attend_by_matrices(attention.call, engine, engine));
    shapes.push_back(engine.chosen.size());
  }
  CHECK(shapes[0] == shapes[1]);
}

TEST_CASE("every wait between attention's two streams is needed, and none is missing") {
  // Two chunks of queries, four of keys.
  NotedAttention attention(16, 64, 16, 0);
  attention.call.queries.region.y = attention.call.target.region.y = {0, 8};
  attention.workspace.resize(static_cast<size_t>(AttentionChunks{256, 256, 2}.layout(512).end));
  attention.call.workspace = attention.workspace.data();
  attention.call.workspace_bytes = static_cast<int64_t>(attention.workspace.size());
  const auto run = [&](PlainAttention& engine) {
    engine.computes = false;
    if (!attend_by_matrices(attention.call, engine, engine)) throw std::runtime_error("not started");
    engine.clear(attention.workspace);
  };
  PlainAttention whole;
  run(whole);
  CHECK(whole.products == 2 * 4 * 2);
  CHECK(whole.waits == 2 * (4 + 3 + 4));
  for (int dropped = 0; dropped < whole.waits; ++dropped) {
    CAPTURE(dropped);
    PlainAttention engine;
    engine.dropped = dropped;
    CHECK_THROWS_AS(run(engine), std::logic_error);
  }
}

TEST_CASE("scores become weights beside attention's products") {
  // Four chunks of keys, one of queries.
  NotedAttention attention(64, 128, 64, attention_workspace_bytes(4096, 8192, 512));
  attention.call.queries.region.y = attention.call.target.region.y = {0, 32};
  PlainAttention engine;
  engine.computes = engine.finds_hazards = false;
  REQUIRE(attend_by_matrices(attention.call, engine, engine));
  REQUIRE(engine.products == 8);
  // Eight products and the means in a row; only the weights of the first chunk are waited for, and the last
  // time that sums are rescaled.
  CHECK(engine.ended == 8 + 1 + 1);
}

}  // namespace
}  // namespace headroom::gpu
