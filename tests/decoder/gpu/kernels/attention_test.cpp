#include "decoder/gpu/kernels/attention.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"
#include "tests/emulated_gpu/emulator.h"
#include "tests/support/sanitized.h"

namespace headroom::gpu {
namespace {

using test::Map;
using test::Position;
using test::Random;
using test::rounding_of;

struct Shape {
  int32_t channels = 16, value_channels = 16;
  int32_t frames = 1;
  int32_t rows = 1, columns = 1, query_rows = 1;
  Dtype dtype = Dtype::fp32, stored = Dtype::fp32;
};

/// Queries, keys and values, the latter two in blocks, and a target.
struct AttentionProblem {
  Shape shape;
  Map queries, keys, values, target;
  Attend call;

  AttentionProblem(Random& random, const Shape& of)
      : shape(of),
        queries(random, box(0, of.query_rows, 3), of.channels, of.dtype, true),
        keys(random, box(1, of.rows, 0), of.channels, of.stored),
        values(random, box(1, of.rows, 0), of.value_channels, of.stored),
        target(random, box(2, of.query_rows, 3), of.value_channels, of.dtype, true) {
    call.queries = queries.view();
    call.keys = keys.view();
    call.values = values.view();
    call.target = target.view();
    scale_scores(1 / std::sqrt(double(of.channels)));
    in_frame(static_cast<int32_t>(random.integer(0, of.frames - 1)));
  }

  /// Frames of each view begin with another number.
  Box box(int32_t first_frame, int32_t rows, int32_t first_row) const {
    return {{first_frame, first_frame + shape.frames}, {first_row, first_row + rows}, {5, 5 + shape.columns}};
  }
  void in_frame(int32_t frame) {
    call.query_frame = frame;
    call.key_frames = {1 + frame, 2 + frame};
    call.target_frame = 2 + frame;
  }
  /// Keys are the values too.
  void use_one_tensor() {
    values = keys;
    call.values = call.keys;
  }
  /// Scores of one another, the further apart the sharper.
  void draw(Random& random, double sharpness) {
    for (Map* map : {&queries, &keys})
      map->each([&](const Position& at) { map->set(at, float(random.uniform(-sharpness, sharpness))); });
    scale_scores(1 / std::sqrt(double(shape.channels)));
  }
  /// Decoders fold attention's scale into the weights of the queries.
  void scale_scores(double factor) {
    queries.each([&](const Position& at) { queries.set(at, float(double(queries.at(at)) * factor)); });
  }
};

/// Value `channel` of a frame, where attention finds it.
float attended_value(const Map& map, bool interleaved, int32_t frame, int32_t y, int32_t x, int32_t channel) {
  if (!interleaved) return map.at({frame, y, x, channel});
  const int32_t first = map.region().t.begin, count = map.region().t.end - first;
  const int32_t number = (frame - first) * map.channels() + channel;
  return map.at({first + number % count, y, x, number / count});
}

/// Keys in one call, or frame by frame, with what is summed up in between in memory of its own.
template <typename Run>
void run_in_parts(const AttentionProblem& problem, bool parts, const Run& run) {
  if (!parts) return run(problem.call);
  const Box& queried = problem.call.queries.region;
  const auto queries = static_cast<size_t>(queried.y.end - queried.y.begin) *
                       static_cast<size_t>(queried.x.end - queried.x.begin);
  std::vector<float> sums(queries * static_cast<size_t>(problem.shape.value_channels), NAN),
      largest(queries, NAN), weights(queries, NAN);
  Attend call = problem.call;
  call.state = {sums.data(), largest.data(), weights.data()};
  const Span frames = problem.call.key_frames;
  for (int32_t frame = frames.begin; frame < frames.end; ++frame) {
    call.key_frames = {frame, frame + 1};
    call.first = frame == frames.begin;
    call.last = frame + 1 == frames.end;
    run(call);
  }
}

/// Largest error of the target as a share of what rounding allows. Weights are rounded to 16 bits for the
/// product where that is made by tensor cores, results once; scores have the error of a sum in fp32.
double error_of(const AttentionProblem& problem, bool weights_are_rounded) {
  const Shape& shape = problem.shape;
  const Attend& call = problem.call;
  const double result_unit = rounding_of(shape.dtype), weight_unit = weights_are_rounded ? result_unit : 0;
  double worst = 0;
  const Box& keys = call.keys.region;
  // All keys of the clip, with a mask over those whose frames do not count.
  const auto each_key = [&](const auto& f) {
    for (int32_t t = keys.t.begin; t < keys.t.end; ++t) {
      const bool masked = t < call.key_frames.begin || t >= call.key_frames.end;
      for (int32_t y = keys.y.begin; !masked && y < keys.y.end; ++y) {
        for (int32_t x = keys.x.begin; x < keys.x.end; ++x) f(t, y, x);
      }
    }
  };
  for (int32_t y = call.queries.region.y.begin; y < call.queries.region.y.end; ++y) {
    for (int32_t x = call.queries.region.x.begin; x < call.queries.region.x.end; ++x) {
      std::vector<double> query, scores, magnitudes;
      for (int32_t c = 0; c < shape.channels; ++c)
        query.push_back(attended_value(problem.queries, call.interleaved, call.query_frame, y, x, c));
      double largest = -HUGE_VAL, total = 0;
      each_key([&](int32_t kt, int32_t ky, int32_t kx) {
        double dot = 0, magnitude = 0;
        for (int32_t c = 0; c < shape.channels; ++c) {
          const double product =
              query[static_cast<size_t>(c)] * attended_value(problem.keys, call.interleaved, kt, ky, kx, c);
          dot += product;
          magnitude += std::abs(product);
        }
        scores.push_back(dot);
        magnitudes.push_back(magnitude);
        largest = std::max(largest, scores.back());
      });
      for (double& score : scores) total += score = std::exp(score - largest);
      for (int32_t c = 0; c < shape.value_channels; ++c) {
        double sum = 0, allowed = 1e-30;
        size_t i = 0;
        each_key([&](int32_t kt, int32_t ky, int32_t kx) {
          const double value = attended_value(problem.values, call.interleaved, kt, ky, kx, c);
          const double weight = scores[i] / total;
          sum += weight * value;
          allowed += std::abs(value) * (weight * (weight_unit + 0x1p-24 * (8 + 4 * magnitudes[i])) +
                                        (weights_are_rounded ? 0x1p-25 / total : 0));
          ++i;
        });
        allowed += result_unit * std::abs(sum) + (result_unit == 0x1p-11 ? 0x1p-25 : 0);
        const double found = attended_value(problem.target, call.interleaved, call.target_frame, y, x, c);
        const double error = std::abs(found - sum) / allowed;
        if (!(error <= worst)) worst = error;  // NaN too
      }
    }
  }
  return worst;
}

/// True if the call wrote nothing but its frame of the target.
bool only_frame_differs(const AttentionProblem& problem, const Map& before) {
  bool same = problem.target.only_values_written();
  before.each([&](const Position& at) {
    same = same && (at.t == problem.call.target_frame || problem.target.at(at) == before.at(at));
  });
  return same;
}

/// Shared memory of one block on GPUs of capability 9.0, 8.0 and 8.6.
struct SharedMemory {
  explicit SharedMemory(size_t kib) { emulated::device.shared_bytes = kib << 10; }
  ~SharedMemory() { emulated::device = {}; }
};

Shape random_shape(Random& random, int64_t most_positions) {
  Shape shape;
  shape.columns = static_cast<int32_t>(random.integer(1, 40));
  shape.rows = static_cast<int32_t>(random.integer(1, most_positions / shape.columns));
  shape.query_rows = static_cast<int32_t>(random.integer(1, 1 + 80 / shape.columns));
  shape.frames = static_cast<int32_t>(random.integer(1, 3));
  return shape;
}

#define CAPTURE_SHAPE(shape)                                                                       \
  CAPTURE((shape).channels, (shape).value_channels, (shape).frames, (shape).rows, (shape).columns, \
          (shape).query_rows, name_of((shape).dtype), name_of((shape).stored))

TEST_CASE("attention by tensor cores is the softmax over all positions of a frame") {
  const size_t shared = GENERATE(227, 163, 99);
  const int32_t channels = GENERATE(16, 112, 128, 208, 256, 336, 384, 400, 512);
  if (headroom::test::kSanitized && channels != 128 && channels != 400) return;
  const SharedMemory memory(shared);
  const auto seed = static_cast<uint64_t>(shared) * 1000 + static_cast<uint64_t>(channels);
  CAPTURE(shared, seed);
  Random random(seed);
  Shape shape = random_shape(random, 320);
  shape.channels = shape.value_channels = channels;
  shape.dtype = shape.stored = random.pick<Dtype>({Dtype::fp16, Dtype::bf16});
  CAPTURE_SHAPE(shape);
  AttentionProblem problem(random, shape);
  problem.draw(random, random.pick<double>({0.3, 1, 3}));
  REQUIRE(attends_by_tensor_cores(problem.call));
  const Map before = problem.target;
  start(problem.call, nullptr);
  CHECK(error_of(problem, true) <= 1);
  CHECK(only_frame_differs(problem, before));
}

TEST_CASE("attention by tensor cores to keys that are the values") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{16}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(500 + seed);
  const SharedMemory memory(random.pick<size_t>({227, 227, 227, 163, 99}));
  Shape shape = random_shape(random, 200);
  shape.channels = shape.value_channels =
      random.pick<int32_t>({384, 512, 512, 16 * int32_t(random.integer(1, 32))});
  shape.dtype = shape.stored = random.pick<Dtype>({Dtype::fp16, Dtype::bf16});
  CAPTURE_SHAPE(shape);
  AttentionProblem problem(random, shape);
  problem.draw(random, random.pick<double>({0.3, 1, 3}));
  problem.use_one_tensor();
  const bool holds_tile = emulated::device.shared_bytes > (size_t{200} << 10) ||
                          (emulated::device.shared_bytes > (size_t{169} << 10) && shape.channels <= 384);
  CHECK(attends_to_one_tensor(problem.call) == (shape.channels > 256 && holds_tile));
  for (int32_t frame = 0; frame < shape.frames; ++frame) {
    CAPTURE(frame);
    problem.in_frame(frame);
    problem.call.key_frames.begin = 1;
    const Map before = problem.target;
    run_in_parts(problem, seed % 2 == 0, [&](const Attend& call) { start(call, nullptr); });
    CHECK(error_of(problem, true) <= 1);
    CHECK(only_frame_differs(problem, before));
  }
}

TEST_CASE("attention in fp32, of every mixture of dtypes, whatever the channels") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{24}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  Shape shape = random_shape(random, 200);
  shape.channels = static_cast<int32_t>(random.pick<int64_t>({4, 64, 260, 384, 512, random.integer(1, 512)}));
  shape.value_channels = random.chance(0.7) ? shape.channels : static_cast<int32_t>(random.integer(1, 512));
  shape.dtype = random.pick<Dtype>({Dtype::fp32, Dtype::fp32, Dtype::fp16, Dtype::bf16});
  shape.stored = random.pick<Dtype>({Dtype::fp32, Dtype::fp32, Dtype::fp16, Dtype::bf16});
  CAPTURE_SHAPE(shape);
  const SharedMemory memory(99);
  AttentionProblem problem(random, shape);
  problem.draw(random, random.pick<double>({0.3, 1, 3}));
  const Map before = problem.target;
  REQUIRE(attends_by_tiles(problem.call));
  attend_by_tiles(problem.call, nullptr);
  CHECK(error_of(problem, false) <= 1);
  CHECK(only_frame_differs(problem, before));
}

TEST_CASE("attention of interleaved frames") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{12}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(200 + seed);
  Shape shape = random_shape(random, 90);
  shape.frames = static_cast<int32_t>(random.integer(1, 5));
  shape.channels = shape.value_channels = static_cast<int32_t>(random.integer(1, 40));
  shape.dtype = shape.stored = random.pick<Dtype>({Dtype::fp32, Dtype::fp16, Dtype::bf16});
  CAPTURE_SHAPE(shape);
  const bool plain = random.chance(0.3);
  AttentionProblem problem(random, shape);
  problem.draw(random, 1);
  problem.call.interleaved = true;
  for (int32_t frame = 0; frame < shape.frames; ++frame) {
    problem.in_frame(frame);
    REQUIRE_FALSE(attends_by_tensor_cores(problem.call));
    plain ? attend_plainly(problem.call, nullptr) : start(problem.call, nullptr);
  }
  for (int32_t frame = 0; frame < shape.frames; ++frame) {
    problem.in_frame(frame);
    CHECK(error_of(problem, false) <= 1);
  }
}

TEST_CASE(
    "attention of a frame's queries to the keys of several frames, by each kernel, in blocks of any rows") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{36}, headroom::test::kSeedStep));
  const int kernel = static_cast<int>(seed % 4);  // tensor cores; vectors; one by one; query by query
  Random random(400 + seed);
  Shape shape = random_shape(random, 70);
  shape.frames = static_cast<int32_t>(random.integer(1, 5));
  shape.channels = shape.value_channels =
      static_cast<int32_t>(kernel == 0 ? 16 * random.integer(1, 32) : 4 * random.integer(1, 100));
  shape.dtype = shape.stored = kernel == 1 ? Dtype::fp32 : random.pick<Dtype>({Dtype::fp16, Dtype::bf16});
  CAPTURE(seed, kernel);
  CAPTURE_SHAPE(shape);
  AttentionProblem problem(random, shape);
  problem.draw(random, random.pick<double>({0.3, 1, 3}));
  for (int32_t frame = 0; frame < shape.frames; ++frame) {
    CAPTURE(frame);
    problem.in_frame(frame);
    problem.call.key_frames.begin = 1;
    const Map before = problem.target;
    if (kernel == 0) REQUIRE(attends_by_tensor_cores(problem.call));
    run_in_parts(problem, seed % 8 < 4, [&](const Attend& call) {
      kernel < 2    ? start(call, nullptr)
      : kernel == 2 ? attend_by_tiles(call, nullptr)
                    : attend_plainly(call, nullptr);
    });
    CHECK(error_of(problem, kernel == 0) <= 1);
    CHECK(only_frame_differs(problem, before));
  }
}

/// Tiles of other heights give the same bits for the same queries, since keys come in one order.
TEST_CASE("what a query attends to does not depend on the tile that it is in") {
  const auto [dtype, channels] =
      GENERATE(table<Dtype, int32_t>({{Dtype::fp32, 32}, {Dtype::bf16, 32}, {Dtype::bf16, 272}}));
  const bool one_tensor = channels > 256;
  CAPTURE(name_of(dtype), one_tensor);
  Random random(9);
  const Shape shape{.channels = channels,
                    .value_channels = channels,
                    .frames = 3,
                    .rows = 11,
                    .columns = 13,
                    .query_rows = 9,
                    .dtype = dtype,
                    .stored = dtype};
  AttentionProblem problem(random, shape);
  problem.draw(random, one_tensor ? 0.7 : 2);
  if (one_tensor) problem.use_one_tensor();
  problem.in_frame(2);
  problem.call.key_frames.begin = 1;
  start(problem.call, nullptr);
  const Map whole = problem.target;
  const Box all = problem.call.queries.region;
  for (int32_t y = all.y.begin; y < all.y.end; ++y) {
    Shape row = shape;
    row.query_rows = 1;
    AttentionProblem alone(random, row);
    alone.in_frame(2);
    alone.queries.each([&](const Position& at) {
      alone.queries.set(at, problem.queries.at({at.t, y, at.x, at.c}));
    });
    alone.call.keys = problem.call.keys;
    alone.call.values = problem.call.values;
    alone.call.key_frames.begin = 1;
    start(alone.call, nullptr);
    bool same = true;
    alone.target.each([&](const Position& at) {
      same =
          same && (at.t != alone.call.target_frame || alone.target.at(at) == whole.at({at.t, y, at.x, at.c}));
    });
    CHECK(same);
  }
}

TEST_CASE("attention of more channels than tiles have room for") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{6}));
  CAPTURE(seed);
  Random random(300 + seed);
  Shape shape = random_shape(random, 150);
  shape.query_rows = 1;
  shape.channels = shape.value_channels =
      static_cast<int32_t>(seed < 3 ? random.integer(513, 700) : random.integer(1, 300));
  shape.dtype = shape.stored = random.pick<Dtype>({Dtype::fp32, Dtype::fp16, Dtype::bf16});
  CAPTURE_SHAPE(shape);
  AttentionProblem problem(random, shape);
  problem.draw(random, 1);
  CHECK(attends_by_tiles(problem.call) == (seed >= 3));
  seed < 3 ? start(problem.call, nullptr) : attend_plainly(problem.call, nullptr);
  CHECK(error_of(problem, false) <= 1);
}

TEST_CASE("attention of scores in the thousands that grow from key to key, or fall") {
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const double direction = GENERATE(1, -1);
  CAPTURE(name_of(dtype), direction);
  Random random(7);
  const Shape shape{.channels = 64,
                    .value_channels = 64,
                    .rows = 30,
                    .columns = 17,
                    .query_rows = 2,
                    .dtype = dtype,
                    .stored = dtype};
  AttentionProblem problem(random, shape);
  // From one key to the next by a little more than 10, to 5000 and more.
  problem.queries.each([&](const Position& at) {
    problem.queries.set(at, static_cast<float>(direction * random.uniform(9, 11)));
  });
  problem.scale_scores(1 / std::sqrt(double(shape.channels)));
  problem.keys.each([&](const Position& at) {
    problem.keys.set(at, static_cast<float>(at.y * shape.columns + at.x - 5) / 8);
  });
  start(problem.call, nullptr);
  CHECK(error_of(problem, dtype != Dtype::fp32) <= 1);
  // Scores far below zero and far above it: nothing overflows on the way.
  problem.scale_scores(8);
  start(problem.call, nullptr);
  CHECK(error_of(problem, dtype != Dtype::fp32) <= 1);
}

}  // namespace
}  // namespace headroom::gpu
