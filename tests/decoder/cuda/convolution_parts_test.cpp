#include "decoder/cuda/convolution_parts.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "tests/support/random.h"

namespace headroom::gpu {
namespace {

using test::Random;

constexpr float kUntouched = 1e30f;

/// A view and its memory, fp32.
struct Held {
  View view;
  std::vector<float> values;

  Held(const Box& region, int32_t channels, int32_t block_rows) {
    view.region = region;
    view.channels = channels;
    view.block_rows = block_rows;
    const int32_t rows = region.y.end - region.y.begin;
    view.blocks = (rows + block_rows - 1) / block_rows;
    const int64_t block =
        int64_t{region.t.end - region.t.begin} * block_rows * (region.x.end - region.x.begin) * channels;
    const auto units = static_cast<uint32_t>((block * 4 + kBlockUnit - 1) / kBlockUnit);
    // The last block lies first.
    for (int32_t b = 0; b < view.blocks; ++b)
      view.block_units[b] = units * static_cast<uint32_t>(view.blocks - 1 - b);
    values.resize(static_cast<size_t>(view.blocks) * units * kBlockUnit / 4, kUntouched);
    view.base = reinterpret_cast<std::byte*>(values.data());
  }

  Held(const Held&) = delete;
};

float& at(const View& view, int32_t t, int32_t y, int32_t x, int32_t channel) {
  const Box& region = view.region;
  const int32_t block = (y - region.y.begin) / view.block_rows;
  const int64_t row = int64_t{t - region.t.begin} * view.block_rows + (y - region.y.begin) % view.block_rows;
  auto* values = reinterpret_cast<float*>(view.base + view.block_units[block] * kBlockUnit);
  return values[(row * (region.x.end - region.x.begin) + x - region.x.begin) * view.channels + channel];
}

template <typename Visit>
void for_positions(const Box& box, const Visit& visit) {
  for (int32_t t = box.t.begin; t < box.t.end; ++t) {
    for (int32_t y = box.y.begin; y < box.y.end; ++y) {
      for (int32_t x = box.x.begin; x < box.x.end; ++x) visit(t, y, x);
    }
  }
}

/// Plain loops; chooses as it is told.
class PlainEngine : public ConvolutionEngine {
 public:
  int64_t wanted_bytes_for_row = 0;  ///< of workspace, for a good fit
  int64_t most_rows = 1 << 20;       ///< more fit nowhere
  int parts = 0;

  Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) override {
    if (problem.rows > most_rows) return Fit::none;
    return problem.rows * wanted_bytes_for_row <= workspace_bytes ? Fit::good : Fit::poor;
  }

  void convolve(const ConvolutionPart& part) override {
    ++parts;
    const ConvolutionProblem& p = part.problem;
    REQUIRE(p.rows <= most_rows);
    const auto* input = reinterpret_cast<const float*>(part.input);
    const auto* kernel = reinterpret_cast<const float*>(part.kernel);
    const auto* bias = static_cast<const float*>(part.bias);
    auto* output = reinterpret_cast<float*>(part.output);
    for (int64_t t = 0; t < p.frames; ++t) {
      for (int64_t y = 0; y < p.rows; ++y) {
        for (int64_t x = 0; x < p.columns; ++x) {
          for (int64_t o = 0; o < p.outputs; ++o) {
            double sum = bias[o];
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

  void interleave(const Interleave& call) override {
    const int32_t channels = call.target.channels;
    const int64_t columns = call.coarse.x.end - call.coarse.x.begin;
    const int64_t phase = (call.coarse.y.end - call.coarse.y.begin) * columns * channels;
    for_positions(call.region, [&](int32_t t, int32_t y, int32_t x) {
      const int64_t row = (y >> 1) - call.coarse.y.begin, column = (x >> 1) - call.coarse.x.begin;
      const auto* from = static_cast<const float*>(call.phases) + ((y & 1) * 2 + (x & 1)) * phase +
                         (row * columns + column) * channels;
      for (int32_t c = 0; c < channels; ++c) at(call.target, t, y, x, c) = from[c];
    });
  }
};

/// A convolution with its memory. The kernel is kept as the original one.
struct Case {
  ConvolutionShape shape;
  std::vector<float> kernel, bias, given;  ///< given: as calls have it
  Box region;

  float tap(int32_t o, int32_t k, int32_t y, int32_t x, int32_t c) const {
    return kernel[static_cast<size_t>(
        (((o * shape.frames + k) * shape.rows + y) * shape.columns + x) * shape.inputs + c)];
  }

  Case(Random& random, const ConvolutionShape& s) : shape(s) {
    kernel.resize(
        static_cast<size_t>(shape.outputs * shape.frames * shape.rows * shape.columns * shape.inputs));
    bias.resize(static_cast<size_t>(shape.outputs));
    for (float& value : kernel) value = static_cast<float>(random.uniform(-1, 1));
    for (float& value : bias) value = static_cast<float>(random.uniform(-1, 1));
    given = kernel;
    if (!shape.upsamples) return;
    given.clear();
    for (int32_t py = 0; py < 2; ++py) {
      for (int32_t px = 0; px < 2; ++px) {
        for (int32_t o = 0; o < shape.outputs; ++o) {
          for (int32_t k = 0; k < shape.frames; ++k) {
            for (int32_t y = 0; y < 2; ++y) {
              for (int32_t x = 0; x < 2; ++x) {
                for (int32_t c = 0; c < shape.inputs; ++c) {
                  // Taps of the original kernel that read this coarse position.
                  double sum = 0;
                  for (int32_t i = 0; i < 3; ++i) {
                    for (int32_t j = 0; j < 3; ++j) {
                      if (((py + i - 1) >> 1) == y - 1 + py && ((px + j - 1) >> 1) == x - 1 + px)
                        sum += tap(o, k, i, j, c);
                    }
                  }
                  given.push_back(static_cast<float>(sum));
                }
              }
            }
          }
        }
      }
    }
  }

  /// Inputs that the region reads.
  Box needed() const {
    const int32_t up = shape.upsamples ? 1 : 0, y = shape.rows / 2, x = shape.columns / 2;
    return {{std::max(0, region.t.begin - (shape.frames - 1)), region.t.end},
            {(region.y.begin - y) >> up, ((region.y.end - 1 + y) >> up) + 1},
            {(region.x.begin - x) >> up, ((region.x.end - 1 + x) >> up) + 1}};
  }

  double expected(const View& input, int32_t t, int32_t y, int32_t x, int32_t o) const {
    const int32_t up = shape.upsamples ? 1 : 0;
    double sum = bias[static_cast<size_t>(o)];
    for (int32_t k = 0; k < shape.frames; ++k) {
      int32_t frame = t - (shape.frames - 1) + k;
      if (shape.before_first == BeforeFirst::first_frame) frame = std::max(0, frame);
      if (frame < (shape.before_first == BeforeFirst::zeros_for_it_too ? 1 : 0)) continue;
      for (int32_t i = 0; i < shape.rows; ++i) {
        for (int32_t j = 0; j < shape.columns; ++j) {
          const int32_t row = (y + i - shape.rows / 2) >> up, column = (x + j - shape.columns / 2) >> up;
          for (int32_t c = 0; c < shape.inputs; ++c)
            sum += double{at(input, frame, row, column, c)} * tap(o, k, i, j, c);
        }
      }
    }
    return sum;
  }
};

Box widened(const Box& box, int32_t rows, int32_t columns) {
  return {box.t, {box.y.begin - rows, box.y.end + rows}, {box.x.begin - columns, box.x.end + columns}};
}

TEST_CASE("parts of a convolution and what they leave make the whole") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{300}));
  Random random(seed);
  const auto extent = [&](int64_t most) { return static_cast<int32_t>(random.integer(1, most)); };
  ConvolutionShape shape;
  shape.inputs = extent(3);
  shape.outputs = extent(3);
  shape.upsamples = random.chance(0.5);
  shape.rows = shape.upsamples ? 3 : random.pick<int32_t>({1, 3, 5});
  shape.columns = shape.upsamples ? 3 : random.pick<int32_t>({1, 3, 5});
  shape.frames = random.pick<int32_t>({1, 1, 2, 3});
  shape.before_first =
      random.pick<BeforeFirst>({BeforeFirst::zeros, BeforeFirst::first_frame, BeforeFirst::zeros_for_it_too});
  Case convolution(random, shape);
  const auto span = [&](int64_t from, int64_t most) {
    const auto begin = static_cast<int32_t>(random.integer(from, 6));
    return Span{begin, begin + extent(most)};
  };
  convolution.region = {span(0, 4), span(0, 40), span(0, 9)};
  const Box& region = convolution.region;

  const bool exactly = random.chance(0.5);
  const Box held = widened(convolution.needed(), exactly ? 0 : extent(2), exactly ? 0 : extent(2));
  Held input(held, shape.inputs, held.y.end - held.y.begin);
  for_positions(held, [&](int32_t t, int32_t y, int32_t x) {
    for (int32_t c = 0; c < shape.inputs; ++c)
      at(input.view, t, y, x, c) = static_cast<float>(random.uniform(-1, 1));
  });
  const int32_t wider = exactly ? 0 : extent(2);
  const Box around = widened(region, wider, wider);
  Held target(around, shape.outputs, random.chance(0.5) ? around.y.end - around.y.begin : extent(20));

  PlainEngine engine;
  engine.wanted_bytes_for_row = random.pick<int64_t>({0, 0, 100, 1 << 20});
  engine.most_rows = random.pick<int64_t>({1 << 20, 1 << 20, 13, 2});
  std::vector<float> workspace(static_cast<size_t>(random.pick<int64_t>({0, 300, 1 << 16})));
  Convolve call;
  call.input = input.view;
  call.target = target.view;
  call.region = region;
  call.shape = shape;
  call.kernel = convolution.given.data();
  call.bias = convolution.bias.data();
  call.workspace = workspace.data();
  call.workspace_bytes = static_cast<int64_t>(workspace.size()) * 4;
  CAPTURE(seed, shape.upsamples, shape.frames, region.y.begin, region.y.end, region.x.begin, region.x.end,
          exactly, engine.wanted_bytes_for_row, engine.most_rows, workspace.size());
  const std::vector<Box> left = convolve_in_parts(call, engine);

  int64_t left_positions = 0;
  for (const Box& box : left) {
    for_positions(box, [&](int32_t t, int32_t y, int32_t x) {
      REQUIRE(at(target.view, t, y, x, 0) == kUntouched);
      for (int32_t o = 0; o < shape.outputs; ++o)
        at(target.view, t, y, x, o) = static_cast<float>(convolution.expected(input.view, t, y, x, o));
      ++left_positions;
    });
  }
  double worst = 0;
  for_positions(around, [&](int32_t t, int32_t y, int32_t x) {
    const bool inside = y >= region.y.begin && y < region.y.end && x >= region.x.begin && x < region.x.end;
    for (int32_t o = 0; o < shape.outputs; ++o) {
      const double value = at(target.view, t, y, x, o);
      if (inside) {
        worst = std::max(worst, std::abs(value - convolution.expected(input.view, t, y, x, o)));
      } else {
        REQUIRE(value == kUntouched);
      }
    }
  });
  CHECK(worst < 1e-5);

  // Where the library refuses nothing, only frames with a history of their own are left.
  if (engine.most_rows == 1 << 20 && (!shape.upsamples || workspace.size() == 1 << 16)) {
    int64_t irregular = 0;
    for (int32_t t = region.t.begin; t < region.t.end; ++t) {
      const int32_t first = shape.frames - 1 + (shape.before_first == BeforeFirst::zeros_for_it_too ? 1 : 0);
      if (t < first) ++irregular;
    }
    CHECK(left_positions == irregular * (region.y.end - region.y.begin) * (region.x.end - region.x.begin));
  }
}

/// Notes what it is asked for and computes nothing.
class NotingEngine : public ConvolutionEngine {
 public:
  std::vector<ConvolutionPart> parts;

  Fit fit(const ConvolutionProblem& problem, int64_t) override {
    CHECK((problem.input_rows() - 1) * problem.input_row + problem.input_columns() * problem.inputs <
          int64_t{1} << 31);
    return Fit::good;
  }
  void convolve(const ConvolutionPart& part) override { parts.push_back(part); }
  void interleave(const Interleave&) override {}
};

TEST_CASE("tensors of 2^31 elements are cut into slices of rows") {
  // Addresses that nothing reads.
  Convolve call;
  call.shape = {.inputs = 128, .outputs = 128, .rows = 3, .columns = 3};
  call.input.base = call.target.base = reinterpret_cast<std::byte*>(4096);
  call.input.channels = call.target.channels = 128;
  call.input.dtype = call.target.dtype = Dtype::fp16;
  call.region = {{0, 1}, {0, 8192}, {0, 8192}};
  call.target.region = call.region;
  call.target.block_rows = 8192;
  call.input.region = {{0, 1}, {-1, 8193}, {-1, 8193}};
  call.input.block_rows = 8194;
  NotingEngine engine;
  CHECK(convolve_in_parts(call, engine).empty());
  int64_t rows = 0;
  for (const ConvolutionPart& part : engine.parts) {
    CHECK(part.input - call.input.base == rows * 8194 * 128 * 2);
    CHECK(part.output - call.target.base == rows * 8192 * 128 * 2);
    rows += part.problem.rows;
  }
  CHECK(rows == 8192);
  CHECK(engine.parts.size() == 8);
}

TEST_CASE("frames are a batch where nothing lies between them") {
  Convolve call;
  call.shape = {.inputs = 4, .outputs = 4, .rows = 3, .columns = 3};
  call.input.base = call.target.base = reinterpret_cast<std::byte*>(4096);
  call.input.channels = call.target.channels = 4;
  call.region = call.target.region = {{0, 5}, {0, 8}, {0, 8}};
  call.target.block_rows = 8;
  call.input.region = {{0, 5}, {-1, 9}, {-1, 9}};
  call.input.block_rows = 10;
  NotingEngine engine;
  CHECK(convolve_in_parts(call, engine).empty());
  REQUIRE(engine.parts.size() == 1);
  CHECK(engine.parts[0].problem.frames == 5);
  call.region.y.end = 7;
  CHECK(convolve_in_parts(call, engine).empty());
  CHECK(engine.parts.size() == 6);
}

TEST_CASE("groups are left to others") {
  Convolve call;
  call.shape = {.inputs = 8, .outputs = 8, .groups = 2};
  call.region = {{0, 1}, {0, 4}, {0, 4}};
  NotingEngine engine;
  CHECK(convolve_in_parts(call, engine).size() == 1);
  CHECK(engine.parts.empty());
}

}  // namespace
}  // namespace headroom::gpu
