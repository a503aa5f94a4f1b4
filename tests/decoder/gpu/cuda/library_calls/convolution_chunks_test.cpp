#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "decoder/gpu/kernels/kernels.h"
#include "decoder/schedule/gpu_layout.h"
#include "tests/support/plain_convolution.h"

namespace headroom::gpu {
namespace {

using test::for_positions;
using test::HeldView;
using test::PlainConvolution;
using test::Random;
using test::widened;

constexpr float kUntouched = 1e30f;

/// Plain loops; chooses as the test says.
class PlainEngine : public ConvolutionEngine {
 public:
  int64_t wanted_bytes_for_row = 0;  ///< of workspace, for a good fit
  int64_t most_rows = 1 << 20;       ///< more fit nowhere
  int64_t most_frames = 1 << 20;     ///< more fit nowhere
  int chunks = 0;

  Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) override {
    if (problem.rows > most_rows || problem.frames > most_frames) return Fit::none;
    return problem.rows * wanted_bytes_for_row <= workspace_bytes ? Fit::good : Fit::poor;
  }

  void convolve(const ConvolutionChunk& chunk) override {
    ++chunks;
    const ConvolutionProblem& p = chunk.problem;
    REQUIRE(p.rows <= most_rows);
    REQUIRE(p.frames <= most_frames);
    const auto* input = reinterpret_cast<const float*>(chunk.input);
    const auto* kernel = reinterpret_cast<const float*>(chunk.kernel);
    const auto* bias = static_cast<const float*>(chunk.bias);
    const auto* residual = reinterpret_cast<const float*>(chunk.residual);
    auto* output = reinterpret_cast<float*>(chunk.output);
    REQUIRE(p.adds == (residual != nullptr));
    for (const void* address : {static_cast<const void*>(input), chunk.bias, static_cast<const void*>(kernel),
                                static_cast<const void*>(residual), static_cast<const void*>(output)})
      REQUIRE(reinterpret_cast<uintptr_t>(address) % kCudnnAlignment == 0);
    for (int64_t t = 0; t < p.frames; ++t) {
      for (int64_t y = 0; y < p.rows; ++y) {
        for (int64_t x = 0; x < p.columns; ++x) {
          for (int64_t o = 0; o < p.outputs; ++o) {
            double sum = bias[o];
            if (p.adds) sum += residual[t * p.residual_frame + y * p.residual_row + x * p.outputs + o];
            for (int64_t k = 0; k < p.taps_t; ++k) {
              for (int64_t i = 0; i < p.taps_y; ++i) {
                for (int64_t j = 0; j < p.taps_x; ++j) {
                  const float* from =
                      input + (t + k) * p.input_frame + (y + i) * p.input_row + (x + j) * p.inputs;
                  const float* taps =
                      kernel + (((o * p.taps_t + k) * p.taps_y + i) * p.taps_x + j) * p.inputs;
                  for (int64_t c = 0; c < p.inputs; ++c) sum += double{from[c]} * taps[c];
                }
              }
            }
            output[t * p.output_frame + y * p.output_row + x * p.outputs + o] = static_cast<float>(sum);
          }
        }
      }
    }
  }

  void run(const Call& call) override { gpu::run(call, nullptr); }
};

TEST_CASE("chunks of a convolution and what they leave make the whole") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{300}));
  Random random(seed);
  const auto extent = [&](int64_t most) { return static_cast<int32_t>(random.integer(1, most)); };
  ConvolutionShape shape;
  // Four channels of fp32 align every position as libraries need it; other counts align only some.
  const int32_t channels = random.chance(0.7) ? 4 : 1;
  shape.inputs = channels * extent(3);
  shape.outputs = channels * extent(3);
  shape.upsamples = random.chance(0.5);
  shape.rows = shape.upsamples ? 3 : random.pick<int32_t>({1, 3, 5});
  shape.columns = shape.upsamples ? 3 : random.pick<int32_t>({1, 3, 5});
  shape.frames = random.pick<int32_t>({1, 1, 2, 3});
  shape.before_first = random.pick<BeforeFirst>(
      {BeforeFirst::zeros, BeforeFirst::first_frame, BeforeFirst::zeros_instead_of_first_frame});
  if (shape.before_first != BeforeFirst::zeros_instead_of_first_frame)
    shape.frames_ahead = static_cast<int32_t>(random.integer(0, shape.frames - 1));
  if (!shape.upsamples && shape.frames_ahead == 0 && random.chance(0.1))
    shape.stride = {random.pick<int32_t>({1, shape.frames}), 2, random.pick<int32_t>({1, 2})};
  const PlainConvolution convolution(random, shape, Dtype::fp32);
  const auto span = [&](int64_t from, int64_t most) {
    const auto begin = static_cast<int32_t>(random.integer(from, 6));
    return Span{begin, begin + extent(most)};
  };
  const Box region{span(0, 4), span(0, 40), span(0, 9)};

  const bool exactly = random.chance(0.5);
  const int32_t more_rows = exactly ? 0 : extent(2), more_columns = exactly ? 0 : extent(2);
  Box held = widened(convolution.needed(region), more_rows, more_columns);
  held.t.end -= static_cast<int32_t>(random.integer(0, shape.frames_ahead));  // where the clip ends
  HeldView input(held, shape.inputs, test::length(held.y), Dtype::fp32);
  input.fill(random, 1);
  const int32_t wider = exactly ? 0 : extent(2);
  const Box around = widened(region, wider, wider);
  HeldView target(around, shape.outputs, random.chance(0.5) ? test::length(around.y) : extent(20),
                  Dtype::fp32);
  target.fill(kUntouched);
  const bool adds = !shape.upsamples && random.chance(0.5), in_place = adds && random.chance(0.5);
  HeldView apart(around, shape.outputs, extent(20), Dtype::fp32);
  apart.fill(random, 1);
  if (in_place) target.fill(random, 1);
  std::vector<float> before;
  for_positions(around, [&](int32_t t, int32_t y, int32_t x) {
    for (int32_t o = 0; o < shape.outputs; ++o)
      before.push_back((in_place ? target : apart).value(t, y, x, o));
  });
  const auto value_before = [&](int32_t t, int32_t y, int32_t x, int32_t o) {
    const int64_t row = int64_t{t - around.t.begin} * test::length(around.y) + (y - around.y.begin);
    return before[static_cast<size_t>((row * test::length(around.x) + (x - around.x.begin)) * shape.outputs +
                                      o)];
  };

  PlainEngine engine;
  engine.wanted_bytes_for_row = random.pick<int64_t>({0, 0, 100, 1 << 20});
  engine.most_rows = random.pick<int64_t>({1 << 20, 1 << 20, 13, 2});
  engine.most_frames = random.pick<int64_t>({1 << 20, 1 << 20, 2, 1});
  std::vector<float> workspace(static_cast<size_t>(random.pick<int64_t>({0, 300, 1 << 16})));
  const std::vector<std::byte> kernel = convolution.kernel(), bias = convolution.bias();
  Convolve call;
  call.input = input.view;
  call.target = target.view;
  if (adds) call.residual = in_place ? target.view : apart.view;
  call.region = region;
  call.shape = shape;
  call.kernel = kernel.data();
  call.bias = bias.data();
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size()) * 4;
  CAPTURE(seed, shape.upsamples, shape.frames, region.y.begin, region.y.end, region.x.begin, region.x.end,
          exactly, engine.wanted_bytes_for_row, engine.most_rows, workspace.size());
  const std::vector<Box> left = convolve_in_chunks(call, engine);
  const auto output = [&](int32_t t, int32_t y, int32_t x) {
    std::vector<double> outputs = convolution.output(input, t, y, x);
    for (int32_t o = 0; adds && o < shape.outputs; ++o)
      outputs[static_cast<size_t>(o)] += value_before(t, y, x, o);
    return outputs;
  };

  int64_t left_positions = 0;
  for (const Box& box : left) {
    for_positions(box, [&](int32_t t, int32_t y, int32_t x) {
      REQUIRE(target.value(t, y, x, 0) == (in_place ? value_before(t, y, x, 0) : kUntouched));
      const std::vector<double> outputs = output(t, y, x);
      for (int32_t o = 0; o < shape.outputs; ++o)
        target.set(t, y, x, o, static_cast<float>(outputs[static_cast<size_t>(o)]));
      ++left_positions;
    });
  }
  double worst = 0;
  for_positions(around, [&](int32_t t, int32_t y, int32_t x) {
    const bool inside = y >= region.y.begin && y < region.y.end && x >= region.x.begin && x < region.x.end;
    const std::vector<double> outputs =
        inside ? output(t, y, x) : std::vector<double>(static_cast<size_t>(shape.outputs), kUntouched);
    for (int32_t o = 0; o < shape.outputs; ++o) {
      const double expected =
          !inside && in_place ? value_before(t, y, x, o) : outputs[static_cast<size_t>(o)];
      worst = std::max(worst, std::abs(target.value(t, y, x, o) - expected));
    }
  });
  CHECK(worst < 1e-5);

  // Libraries take no strided convolution.
  if (shape.strided()) {
    CHECK(engine.chunks == 0);
    return;
  }
  // If the library refuses nothing, only frames are left that repeat a frame or read nothing but zeros. The
  // workspace must be enough for a shorter kernel.
  if (channels == 4 && engine.most_rows == 1 << 20 && (!shape.upsamples || workspace.size() == 1 << 16)) {
    int64_t irregular = 0;
    for (int32_t t = region.t.begin; t < region.t.end; ++t) {
      const int32_t earlier = shape.frames - 1 - shape.frames_ahead,
                    first = shape.before_first == BeforeFirst::zeros_instead_of_first_frame ? 1 : 0,
                    missing = std::max(0, t + shape.frames_ahead + 1 - held.t.end),
                    taps = shape.frames - std::max(0, earlier + first - t) - missing;
      const bool irregular_frame = t < earlier + first || missing > 0;
      const bool repeats = shape.before_first == BeforeFirst::first_frame && irregular_frame;
      const int64_t values =
          int64_t{shape.outputs} * taps * shape.inputs * (shape.upsamples ? 16 : shape.rows * shape.columns);
      if (repeats ||
          (irregular_frame && (taps < 1 || (values + 63) / 64 * 64 > static_cast<int64_t>(workspace.size()))))
        ++irregular;
    }
    CHECK(left_positions == irregular * test::length(region.y) * test::length(region.x));
  }
}

/// Notes what it is asked for and computes nothing.
class NotingEngine : public ConvolutionEngine {
 public:
  std::vector<ConvolutionChunk> chunks;

  Fit fit(const ConvolutionProblem& problem, int64_t) override {
    CHECK((problem.input_rows() - 1) * problem.input_row + problem.input_columns() * problem.inputs <
          int64_t{1} << 31);
    return Fit::good;
  }
  void convolve(const ConvolutionChunk& chunk) override { chunks.push_back(chunk); }
  void run(const Call&) override {}
};

/// A view of all of a region, at an address that nothing reads.
View unread_view(uintptr_t address, const Box& region, int32_t channels, Dtype dtype) {
  View view;
  view.base = reinterpret_cast<std::byte*>(address);
  view.region = region;
  view.block_rows = test::length(region.y);
  view.channels = channels;
  view.dtype = dtype;
  return view;
}

/// A convolution of square kernels over packed tiles.
Convolve unread_call(const Box& region, int32_t inputs, int32_t outputs, int32_t side, Dtype dtype) {
  Convolve call;
  call.shape = {.inputs = inputs, .outputs = outputs, .rows = side, .columns = side};
  call.region = region;
  call.input = unread_view(4096, widened(region, side / 2, side / 2), inputs, dtype);
  call.target = unread_view(4096, region, outputs, dtype);
  call.kernel = call.input.base;
  call.workspace = call.target.base;
  return call;
}

TEST_CASE("tensors of 2^31 elements are cut into chunks of rows") {
  const Convolve call = unread_call({{0, 1}, {0, 8192}, {0, 8192}}, 128, 128, 3, Dtype::fp16);
  NotingEngine engine;
  CHECK(convolve_in_chunks(call, engine).empty());
  int64_t rows = 0;
  for (const ConvolutionChunk& chunk : engine.chunks) {
    CHECK(chunk.input - call.input.base == rows * 8194 * 128 * 2);
    CHECK(chunk.output - call.target.base == rows * 8192 * 128 * 2);
    rows += chunk.problem.rows;
  }
  CHECK(rows == 8192);
  CHECK(engine.chunks.size() == 8);
}

/// Wants 16 bytes of workspace for every output position, as cuDNN does where there are three outputs: it
/// pads them to eight. It wants a copy of the input too if frames of it have gaps between them. With less it
/// has slower ways.
class PaddingEngine : public ConvolutionEngine {
 public:
  int64_t chunks = 0, positions = 0;

  static int64_t wanted_bytes(const ConvolutionProblem& problem) {
    const int64_t frame = problem.input_rows() * problem.input_row;
    const bool gaps = problem.input_frames() > 1 && problem.input_frame != frame;
    return 16 * problem.frames * problem.rows * problem.columns +
           (gaps ? problem.input_frames() * frame * bytes_per_element(problem.dtype) : 0);
  }
  Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) override {
    return wanted_bytes(problem) <= workspace_bytes ? Fit::good : Fit::poor;
  }
  void convolve(const ConvolutionChunk& chunk) override {
    CHECK(fit(chunk.problem, chunk.workspace_bytes) == Fit::good);
    ++chunks;
    positions += chunk.problem.frames * chunk.problem.rows * chunk.problem.columns;
  }
  void run(const Call&) override {}
};

TEST_CASE("a convolution to three channels is cut into chunks that its workspace is enough for") {
  const Dtype dtype = GENERATE(Dtype::bf16, Dtype::fp32);
  // Frames, rows, columns, frames of the kernel, and chunks. A chunk of a clip has whole frames.
  const auto [frames, rows, columns, taps, chunks] =
      GENERATE(table<int32_t, int32_t, int32_t, int32_t, int64_t>({{1, 16, 16, 1, 1},
                                                                   {1, 1024, 1024, 1, 1},
                                                                   {1, 1448, 1448, 1, 1},
                                                                   {1, 1500, 1500, 1, 2},
                                                                   {1, 2048, 2048, 1, 2},
                                                                   {1, 4096, 4096, 1, 8},
                                                                   {1, 8192, 8192, 1, 32},
                                                                   {1, 64, 100'000, 1, 4},
                                                                   {1, 8, 1'000'000, 1, 4},
                                                                   {17, 480, 832, 1, 4},
                                                                   {17, 480, 832, 3, 4}}));
  CAPTURE(frames, rows, columns, taps, name_of(dtype));
  Convolve call = unread_call({{0, frames}, {0, rows}, {0, columns}}, 128, 3, 3, dtype);
  call.shape.frames = taps;
  call.region.t = call.target.region.t = {taps - 1, taps - 1 + frames};
  call.input.region.t = {0, taps - 1 + frames};
  const KernelShape kernel{.inputs = 128, .outputs = 3, .rows = 3, .columns = 3, .frames = taps};
  call.workspace_bytes = convolution_workspace_bytes(kernel, {frames, rows, columns}, dtype);
  PaddingEngine engine;
  CHECK(convolve_in_chunks(call, engine).empty());
  CHECK(engine.positions == int64_t{frames} * rows * columns);
  CHECK(engine.chunks == chunks);
}

TEST_CASE("blocks that lie one behind the other are written at once") {
  Convolve call = unread_call({{0, 1}, {0, 32}, {0, 16}}, 64, 64, 3, Dtype::fp32);
  call.target.block_rows = 8;
  call.target.blocks = 4;
  constexpr uint32_t kUnits = 8 * 16 * 64 * 4 / kBlockUnit;
  for (uint32_t i = 0; i < 4; ++i) call.target.block_units[i] = 100 + i * kUnits;
  const auto rows = [&] {
    NotingEngine engine;
    CHECK(convolve_in_chunks(call, engine).empty());
    std::vector<int64_t> list;
    for (const ConvolutionChunk& chunk : engine.chunks) list.push_back(chunk.problem.rows);
    return list;
  };
  CHECK(rows() == std::vector<int64_t>{32});
  call.target.block_units[2] += 1;  // a gap
  CHECK(rows() == std::vector<int64_t>{16, 8, 8});
  call.target.block_units[3] += 1;
  CHECK(rows() == std::vector<int64_t>{16, 16});
  // The residual is read in place, from blocks of its own.
  call.residual = call.target;
  call.residual.block_rows = 10;
  for (uint32_t i = 0; i < 4; ++i) call.residual.block_units[i] = 10000 + i * kUnits * 2;
  CHECK(rows() == std::vector<int64_t>{10, 6, 4, 10, 2});
  // A block of a clip has all frames of its rows, so the rows of two blocks never follow one another.
  call.residual = {};
  call.region.t = call.target.region.t = call.input.region.t = {0, 2};
  for (uint32_t i = 0; i < 4; ++i) call.target.block_units[i] = 100 + i * kUnits;
  CHECK(rows().size() == 8);
}

TEST_CASE("a library is asked to add what lies as its result does, anything else is copied there first") {
  Convolve call = unread_call({{0, 1}, {0, 8}, {0, 16}}, 64, 64, 3, Dtype::bf16);
  call.residual = unread_view(1 << 20, {{0, 1}, {-1, 20}, {0, 16}}, 64, Dtype::bf16);
  CHECK_FALSE(as_asked(call).before);
  CHECK(as_asked(call).call.residual.base == call.residual.base);
  call.residual.region.x = {-1, 17};
  const AskedToAdd asked = as_asked(call);
  REQUIRE(asked.before);
  CHECK(asked.before->source.base == call.residual.base);
  CHECK(asked.before->source.region.x.begin == -1);
  CHECK(asked.before->target.base == call.target.base);
  CHECK(asked.before->region.x.end == call.region.x.end);
  CHECK(asked.call.adds());
  CHECK(asked.call.residual.base == call.target.base);
  CHECK(asked.call.residual.region.x.begin == 0);
  call.residual = {};
  CHECK_FALSE(as_asked(call).before);
}

TEST_CASE("one tap that adds in 16 bits in the place of its result is left to others") {
  Convolve call = unread_call({{0, 1}, {0, 8}, {0, 16}}, 64, 64, 1, Dtype::bf16);
  call.residual = call.target;
  NotingEngine engine;
  CHECK(convolve_in_chunks(call, engine).size() == 1);
  CHECK(engine.chunks.empty());
  // Beside the result a library adds it, where rows are as far apart.
  call.residual.base = reinterpret_cast<std::byte*>(1 << 20);
  CHECK(convolve_in_chunks(call, engine).empty());
  CHECK(engine.chunks.size() == 1);
  call.residual.region.x = {-1, 17};
  CHECK_FALSE(as_asked(call).before);
  CHECK(convolve_in_chunks(call, engine).size() == 1);
  CHECK(engine.chunks.size() == 1);
}

TEST_CASE("frames are a batch where nothing lies between them") {
  Convolve call = unread_call({{0, 5}, {0, 8}, {0, 8}}, 4, 4, 3, Dtype::fp32);
  NotingEngine engine;
  CHECK(convolve_in_chunks(call, engine).empty());
  REQUIRE(engine.chunks.size() == 1);
  CHECK(engine.chunks[0].problem.frames == 5);
  call.region.y.end = 7;
  CHECK(convolve_in_chunks(call, engine).empty());
  CHECK(engine.chunks.size() == 6);
}

TEST_CASE("frames over upsampling run together if their phases fit the workspace") {
  Convolve call = unread_call({{0, 5}, {0, 32}, {0, 32}}, 16, 8, 3, Dtype::fp32);
  call.shape.upsamples = true;
  call.input.region = {{0, 5}, {-1, 17}, {-1, 17}};
  call.input.block_rows = 18;
  // 17 by 17 pairs of outputs, of eight channels.
  const int64_t frame = 4 * 17 * 17 * 8 * 4;
  const auto frames_of_chunks = [&](int64_t workspace_bytes) {
    call.workspace_bytes = workspace_bytes;
    NotingEngine engine;
    CHECK(convolve_in_chunks(call, engine).empty());
    std::vector<int64_t> frames;
    for (const ConvolutionChunk& chunk : engine.chunks) {
      CHECK(chunk.problem.output_frame == frame / 4 / 4);
      frames.push_back(chunk.problem.frames);
    }
    return frames;
  };
  CHECK(frames_of_chunks(5 * frame + 1024) == std::vector<int64_t>(4, 5));
  CHECK(frames_of_chunks(3 * frame + 1024) == std::vector<int64_t>{3, 3, 3, 3, 2, 2, 2, 2});
  CHECK(frames_of_chunks(frame + 1024) == std::vector<int64_t>(20, 1));
  // Rows between the frames that the call does not read.
  call.input.region.y.end = 20;
  call.input.block_rows = 21;
  CHECK(frames_of_chunks(5 * frame + 1024) == std::vector<int64_t>(20, 1));
}

TEST_CASE("groups are left to others") {
  Convolve call = unread_call({{0, 1}, {0, 4}, {0, 4}}, 8, 8, 1, Dtype::fp32);
  call.shape.groups = 2;
  NotingEngine engine;
  CHECK(convolve_in_chunks(call, engine).size() == 1);
  CHECK(engine.chunks.empty());
}

}  // namespace
}  // namespace headroom::gpu
