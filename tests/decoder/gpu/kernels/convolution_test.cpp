#include "decoder/gpu/kernels/convolution.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <vector>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"
#include "tests/emulated_gpu/emulator.h"
#include "tests/emulated_gpu/guarded_memory.h"
#include "tests/support/plain_convolution.h"
#include "tests/support/sanitized.h"

namespace headroom::gpu {
namespace {

using emulated::GuardedMemory;
using test::around;
using test::has;
using test::Map;
using test::Position;
using test::Random;
using test::rounding_of;

/// Bytes with nothing behind them.
GuardedMemory guarded(const std::vector<std::byte>& bytes) {
  GuardedMemory memory(bytes.size(), true);
  std::copy(bytes.begin(), bytes.end(), memory.data());
  return memory;
}

/// By whichever kernel is chosen.
void convolve(const Convolve& call, StreamHandle stream) {
  start(call, stream);
}

/// A convolution with all that it reads, and a target.
struct ConvolutionProblem {
  ConvolutionShape shape;
  Dtype dtype;
  Box region;
  headroom::test::PlainConvolution plain;
  GuardedMemory kernel, bias;
  std::optional<Map> input, target;
  std::optional<Map> own_residual, residual;  ///< where it lies by itself; its values before the call
  GuardedMemory lone_input;                   ///< with nothing before it or behind it
  Convolve call;

  ConvolutionProblem(Random& random, const ConvolutionShape& of, Dtype type, const Box& where,
                     bool in_blocks = false)
      : shape(of),
        dtype(type),
        region(where),
        plain(random, of, type),
        kernel(guarded(plain.kernel())),
        bias(guarded(plain.bias())) {
    Box read = plain.needed(region);
    // Kernels that read later frames meet the clip's end.
    read.t.end -= static_cast<int32_t>(random.integer(0, shape.frames_ahead));
    const Box held{{std::max(0, read.t.begin - static_cast<int32_t>(random.integer(0, 1))), read.t.end},
                   around(random, read.y),
                   around(random, read.x)};
    input.emplace(random, held, shape.inputs, dtype, !in_blocks);
    // Values that nothing may read are NaN.
    input->each([&](const Position& at) {
      if (!has(read, at)) input->set(at, NAN);
    });
    target.emplace(random, around(random, region), shape.outputs, dtype, !in_blocks);
    call.input = input->view();
    if (!in_blocks) {
      const auto bytes =
          static_cast<size_t>((held.t.end - held.t.begin) * (held.y.end - held.y.begin) *
                              (held.x.end - held.x.begin) * shape.inputs * bytes_per_element(dtype));
      lone_input = {bytes, random.chance(0.5)};
      std::copy_n(call.input.base + call.input.block_units[0] * kBlockUnit, bytes, lone_input.data());
      call.input.base = lone_input.data();
      call.input.block_units[0] = 0;
    }
    call.target = target->view();
    call.region = region;
    call.shape = shape;
    call.kernel = kernel.data();
    call.bias = bias.data();
  }

  /// Adds a residual, from elsewhere or from where the result goes.
  void add_residual(Random& random, bool in_place) {
    const auto wanted = [&](Map& map) {
      map.each([&](const Position& at) {
        if (!has(region, at)) map.set(at, in_place ? map.at(at) : NAN);
      });
      call.residual = map.view();
      residual = map;
    };
    if (in_place) return wanted(*target);
    own_residual.emplace(random, around(random, region), shape.outputs, dtype);
    wanted(*own_residual);
  }

  /// Largest error of the region as a share of what rounding allows: of a sum in fp32, and of the result
  /// once.
  double error() const {
    const double unit = rounding_of(dtype);
    const double terms = 1 + double(shape.frames) * shape.rows * shape.columns * shape.inputs / shape.groups;
    const auto read = [&](int32_t frame, int32_t row, int32_t column, int32_t c) {
      return input->at({frame, row, column, c});
    };
    const int32_t end_frame = call.input.region.t.end;
    double worst = 0;
    headroom::test::for_positions(region, [&](int32_t t, int32_t y, int32_t x) {
      const std::vector<double> sums = plain.output(end_frame, t, y, x, read),
                                magnitudes = plain.magnitudes(end_frame, t, y, x, read);
      for (int32_t o = 0; o < shape.outputs; ++o) {
        const double added = residual ? double(residual->at({t, y, x, o})) : 0;
        const double sum = sums[static_cast<size_t>(o)] + added;
        const double magnitude = magnitudes[static_cast<size_t>(o)] + std::abs(added);
        const double allowed = unit * std::abs(sum) + 0x1p-24 * (4 + std::sqrt(terms)) * magnitude + 1e-30 +
                               (dtype == Dtype::fp16 ? 0x1p-25 : 0);
        const double error = std::abs(double(target->at({t, y, x, o})) - sum) / allowed;
        if (!(error <= worst)) worst = error;  // NaN too
      }
    });
    return worst;
  }
  /// Runs one of the ways and holds it against the definition.
  template <typename Run>
  void check(Run&& run) {
    CAPTURE(shape.inputs, shape.outputs, shape.groups, shape.frames, shape.rows, shape.columns,
            shape.upsamples, shape.stride.t, shape.stride.y, shape.stride.x, shape.begins_at_own,
            static_cast<int>(shape.before_first), name_of(dtype), region.t.begin, region.t.end,
            region.y.begin, region.y.end, region.x.begin, region.x.end);
    const Map before = *target;
    run(call, nullptr);
    CHECK(error() <= 1);
    bool same_beside = target->only_values_written();
    before.each([&](const Position& at) {
      same_beside = same_beside && (has(region, at) || target->at(at) == before.at(at));
    });
    CHECK(same_beside);
  }
};

Span span_between(Random& random, int32_t least, int32_t most) {
  const auto begin = static_cast<int32_t>(random.integer(0, 7));
  return {begin, begin + static_cast<int32_t>(random.integer(least, most))};
}

/// Kernels of one frame or over the time, plain or over upsampling.
ConvolutionShape random_shape(Random& random) {
  ConvolutionShape shape;
  shape.upsamples = random.chance(0.4);
  shape.rows = shape.upsamples ? 3 : static_cast<int32_t>(random.pick<int64_t>({1, 3, random.integer(1, 5)}));
  shape.columns =
      shape.upsamples ? 3 : static_cast<int32_t>(random.pick<int64_t>({1, 3, random.integer(1, 5)}));
  shape.frames = random.chance(0.6) ? 1 : static_cast<int32_t>(random.integer(2, 3));
  shape.before_first = random.pick<BeforeFirst>(
      {BeforeFirst::zeros, BeforeFirst::first_frame, BeforeFirst::zeros_instead_of_first_frame});
  if (shape.frames == 1) shape.before_first = BeforeFirst::zeros;
  if (shape.before_first != BeforeFirst::zeros_instead_of_first_frame)
    shape.frames_ahead = static_cast<int32_t>(random.integer(0, shape.frames - 1));
  return shape;
}
/// Half of the convolutions that can have a stride get one.
void maybe_stride(Random& random, ConvolutionShape& shape) {
  if (shape.upsamples || shape.frames_ahead > 0 || random.chance(0.5)) return;
  const auto step = [&](int64_t most) { return static_cast<int32_t>(random.integer(1, most)); };
  shape.stride = {step(shape.frames), step(3), step(3)};
  shape.begins_at_own = random.chance(0.5);
}
Span random_frames(Random& random, const ConvolutionShape& shape) {
  if (shape.frames == 1) return {0, 1};
  const auto begin = static_cast<int32_t>(random.pick<int64_t>({0, random.integer(1, 3)}));
  return {begin, begin + static_cast<int32_t>(random.integer(1, 2))};
}

/// Half of the problems add a residual, half of those in place.
void maybe_add_residual(Random& random, ConvolutionProblem& problem) {
  if (random.chance(0.5)) problem.add_residual(random, random.chance(0.5));
}

/// So many multiprocessors that all tiles are small, or so few that they are large; shared memory of
/// capability 8.6.
struct Gpu {
  explicit Gpu(int multiprocessors) { emulated::device = {size_t{99} << 10, multiprocessors}; }
  ~Gpu() { emulated::device = {}; }
};

TEST_CASE("convolution by tensor cores, small tiles and few outputs") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{24}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const Gpu gpu(1000);
  ConvolutionShape shape = random_shape(random);
  shape.inputs = static_cast<int32_t>(8 * random.integer(1, 9));
  shape.outputs = static_cast<int32_t>(random.pick<int64_t>({3, 16, 17, 64, 96, random.integer(1, 100)}));
  ConvolutionProblem problem{
      random,
      shape,
      random.pick<Dtype>({Dtype::fp16, Dtype::bf16}),
      {random_frames(random, shape), span_between(random, 1, 12), span_between(random, 1, 30)}};
  maybe_add_residual(random, problem);
  REQUIRE(convolves_by_tensor_cores(problem.call));
  problem.check(convolve);
}

TEST_CASE("convolution by tensor cores, large tiles") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{10}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(100 + seed);
  const Gpu gpu(1);
  ConvolutionShape shape = random_shape(random);
  shape.inputs = static_cast<int32_t>(8 * random.integer(1, 6));
  shape.outputs = static_cast<int32_t>(random.pick<int64_t>({65, 128, random.integer(65, 200)}));
  ConvolutionProblem problem{
      random,
      shape,
      random.pick<Dtype>({Dtype::fp16, Dtype::bf16}),
      {random_frames(random, shape), span_between(random, 6, 14), span_between(random, 10, 25)}};
  maybe_add_residual(random, problem);
  REQUIRE(convolves_by_tensor_cores(problem.call));
  problem.check(convolve);
}

TEST_CASE("convolution over the time reads the frames that its rule says") {
  const BeforeFirst rule =
      GENERATE(BeforeFirst::zeros, BeforeFirst::first_frame, BeforeFirst::zeros_instead_of_first_frame);
  const int32_t frames = GENERATE(1, 2, 3, 4);
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::fp16);
  if (headroom::test::kSanitized && frames % 2 == 0) return;
  Random random(7);
  for (int32_t t = 0; t < 5; ++t) {
    ConvolutionShape shape{
        .inputs = 8, .outputs = 5, .frames = frames, .rows = 3, .columns = 1, .before_first = rule};
    do {
      ConvolutionProblem(random, shape, dtype, {{t, t + 1}, {2, 5}, {3, 8}}).check(convolve);
      ConvolutionProblem(random, shape, dtype, {{t, t + 1}, {2, 5}, {3, 8}}).check(convolve_plainly);
    } while (rule != BeforeFirst::zeros_instead_of_first_frame && ++shape.frames_ahead < frames);
  }
}

TEST_CASE("convolution over upsampling of a region that begins anywhere") {
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16);
  Random random(8);
  const ConvolutionShape shape{.inputs = 8, .outputs = 4, .rows = 3, .columns = 3, .upsamples = true};
  for (int32_t y = -1; y < 3; ++y) {
    for (int32_t x = -1; x < 3; ++x) {
      for (const int32_t rows : {1, 2, 5}) {
        if (headroom::test::kSanitized && rows != 2) continue;
        ConvolutionProblem(random, shape, dtype, {{0, 1}, {y, y + rows}, {x, x + 6 - rows}}).check(convolve);
        ConvolutionProblem(random, shape, dtype, {{0, 1}, {y, y + rows}, {x, x + 6 - rows}})
            .check(convolve_plainly);
      }
    }
  }
}

TEST_CASE("convolution in fp32, of every dtype, whatever the channels") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{30}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(200 + seed);
  ConvolutionShape shape = random_shape(random);
  maybe_stride(random, shape);
  shape.inputs = static_cast<int32_t>(random.pick<int64_t>({3, 4, 16, 20, random.integer(1, 40)}));
  shape.outputs = static_cast<int32_t>(random.pick<int64_t>({3, 16, 17, 128, 130, random.integer(1, 140)}));
  ConvolutionProblem problem{
      random,
      shape,
      random.pick<Dtype>({Dtype::fp32, Dtype::fp32, Dtype::fp16, Dtype::bf16}),
      {random_frames(random, shape), span_between(random, 1, 14), span_between(random, 1, 30)}};
  maybe_add_residual(random, problem);
  REQUIRE(convolves_by_tiles(problem.call));
  if (shape.strided()) REQUIRE(!convolves_by_tensor_cores(problem.call));
  problem.check(convolve_by_tiles);
}

TEST_CASE("convolution of several groups, of each channel by itself, from blocks") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{30}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(300 + seed);
  ConvolutionShape shape = random_shape(random);
  maybe_stride(random, shape);
  shape.groups = static_cast<int32_t>(random.pick<int64_t>({1, 24, random.integer(1, 9)}));
  const auto of_group = static_cast<int32_t>(random.integer(1, 8));
  const bool by_channel = random.chance(0.4);
  shape.inputs = shape.groups * (by_channel ? 1 : of_group);
  shape.outputs = shape.groups * (by_channel ? 1 : static_cast<int32_t>(random.integer(1, 8)));
  const bool in_blocks = shape.groups == 1 || random.chance(0.5);
  ConvolutionProblem problem{
      random,
      shape,
      random.pick<Dtype>({Dtype::fp32, Dtype::fp16, Dtype::bf16}),
      {random_frames(random, shape), span_between(random, 1, 9), span_between(random, 1, 15)},
      in_blocks};
  maybe_add_residual(random, problem);
  problem.check(convolve);
}

TEST_CASE("a convolution of nothing starts nothing") {
  Random random(9);
  for (const bool upsamples : {false, true}) {
    const ConvolutionShape shape{.inputs = 8, .outputs = 20, .rows = 3, .columns = 3, .upsamples = upsamples};
    ConvolutionProblem problem(random, shape, Dtype::fp16, {{0, 1}, {1, 4}, {1, 6}});
    const Map before = *problem.target;
    problem.call.region.y.end = problem.call.region.y.begin;
    start(problem.call, nullptr);
    convolve_by_tiles(problem.call, nullptr);
    convolve_plainly(problem.call, nullptr);
    before.each([&](const Position& at) { REQUIRE(problem.target->at(at) == before.at(at)); });
  }
}

}  // namespace
}  // namespace headroom::gpu
