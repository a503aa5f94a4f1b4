#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/packing.h"
#include "decoder/weights/folded_convolution.h"
#include "tests/support/random.h"

namespace headroom::kernels {
namespace {

using test::Random;

std::vector<float> values(Random& random, int64_t count, double reach = 1) {
  std::vector<float> list(static_cast<size_t>(count));
  for (float& value : list) value = static_cast<float>(random.uniform(-reach, reach));
  return list;
}

TEST_CASE("products of every height, width, depth and number of taps") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{40}));
  CAPTURE(seed);
  Random random(seed);
  const int64_t rows = random.integer(1, 23), depth = random.integer(1, 40), taps = random.integer(1, 9);
  const int64_t width = 16 * random.integer(1, 4), columns = random.integer(1, width);
  const int64_t a_row = depth + random.integer(0, 5), c_row = columns + random.integer(0, 5);
  const bool adds = random.chance(0.5), biased = random.chance(0.5);
  CAPTURE(rows, depth, taps, width, columns, adds, biased);
  // Odd distances, so that nothing is aligned.
  std::vector<Tap> list;
  for (int64_t t = 0; t < taps; ++t) list.push_back({3 * t, t * depth * width});
  const std::vector<float> a = values(random, rows * a_row + 3 * taps),
                           b = values(random, taps * depth * width), bias = values(random, columns),
                           before = values(random, rows * c_row);
  for (const auto& [name, loops] : loops_that_run()) {
    CAPTURE(name);
    std::vector<float> c = before;
    Product product{a.data(), a_row,    b.data(), width, list.data(), taps,
                    depth,    c.data(), c_row,    rows,  columns,     biased ? bias.data() : nullptr,
                    adds};
    loops->multiply(product);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < c_row; ++column) {
        const auto at = static_cast<size_t>(row * c_row + column);
        if (column >= columns) {
          CHECK(c[at] == before[at]);
          continue;
        }
        double expected = (adds ? before[at] : 0.0) + (biased ? bias[static_cast<size_t>(column)] : 0.0);
        for (const Tap& tap : list) {
          for (int64_t k = 0; k < depth; ++k)
            expected += double(a[static_cast<size_t>(tap.a + row * a_row + k)]) *
                        double(b[static_cast<size_t>(tap.b + k * width + column)]);
        }
        CHECK(std::abs(c[at] - expected) <= 1e-6 * double(taps * depth + 2));
      }
    }
  }
}

/// A kernel of the model, packed for both algorithms, some outputs and inputs at a time as the runtime does.
struct Packed {
  KernelShape shape;
  std::vector<float> taps, direct, winograd;
};

Packed packed(Random& random, const KernelShape& shape) {
  Packed kernel{shape, values(random, shape.outputs * shape.inputs * 9), {}, {}};
  kernel.direct.assign(static_cast<size_t>(shape.floats(ConvolutionAlgorithm::direct)), 99.0f);
  kernel.winograd.assign(static_cast<size_t>(shape.floats(ConvolutionAlgorithm::winograd)), 99.0f);
  std::vector<float> folded = kernel.taps;
  if (shape.upsamples) {
    folded.resize(static_cast<size_t>(shape.outputs * shape.inputs * 16));
    for (int64_t i = 0; i < shape.outputs * shape.inputs; ++i)
      sum_phases(kernel.taps.data() + i * 9, folded.data() + i * 16);
  }
  for (int64_t output = 0; output < shape.outputs; output += 16) {
    const int64_t half = (shape.inputs + 1) / 2;
    for (const auto& [begin, count] : {std::pair{int64_t{0}, half}, {half, shape.inputs - half}}) {
      const int64_t offset = panel_offset(shape, output) + begin * panel_width(shape, output);
      const PackedPart direct{kernel.direct.data() + offset, shape.matrix_floats(),
                              panel_width(shape, output)};
      const PackedPart winograd{kernel.winograd.data() + offset, shape.matrix_floats(),
                                panel_width(shape, output)};
      const int64_t matrices = shape.frame_matrices(ConvolutionAlgorithm::direct);
      pack_direct(shape, folded.data() + (output * shape.inputs + begin) * matrices, shape.inputs * matrices,
                  count, std::min<int64_t>(16, shape.outputs - output), direct);
      pack_winograd(shape, direct, count, winograd);
    }
  }
  return kernel;
}

/// An element of a packed matrix.
float element(const Packed& kernel, const std::vector<float>& packed, int64_t matrix, int64_t input,
              int64_t output) {
  const int64_t first = output / 16 * 16;
  return packed[static_cast<size_t>(matrix * kernel.shape.matrix_floats() +
                                    panel_offset(kernel.shape, first) +
                                    input * panel_width(kernel.shape, first) + output % 16)];
}

/// One block by transforms and plain products, against the convolution in double.
TEST_CASE("a Winograd block gives the convolution's outputs, edges and all") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{40}));
  CAPTURE(seed);
  Random random(seed);
  const bool upsamples = random.chance(0.5);
  const KernelShape shape{random.integer(1, 40), random.integer(1, 40), 3, 3, upsamples};
  const WinogradShape& block = shape.winograd();
  const Packed kernel = packed(random, shape);
  // Draws the part of the window that exists, or the part of the outputs that is wanted.
  const auto part = [&](int64_t length) {
    const int64_t begin = random.chance(0.5) ? 0 : random.integer(0, 2);
    return Interval{begin, random.chance(0.5) ? length : random.integer(begin + 1, length)};
  };
  const Interval in_y = part(block.in), in_x = part(block.in), out_y = part(block.out),
                 out_x = part(block.out);
  CAPTURE(upsamples, shape.inputs, shape.outputs, in_y.begin, in_y.end, in_x.begin, in_x.end, out_y.begin,
          out_y.end, out_x.begin, out_x.end);
  const std::vector<float> x = values(random, in_y.length() * in_x.length() * shape.inputs),
                           bias = values(random, shape.outputs),
                           before = values(random, out_y.length() * out_x.length() * shape.outputs);
  const auto input = [&](int64_t y, int64_t column, int64_t c) {
    const bool there = y >= in_y.begin && y < in_y.end && column >= in_x.begin && column < in_x.end;
    return there ? double(x[static_cast<size_t>(
                       ((y - in_y.begin) * in_x.length() + column - in_x.begin) * shape.inputs + c)])
                 : 0.0;
  };
  const int64_t products = block.products * block.products, in_row = (shape.inputs + 15) / 16 * 16;
  for (const auto& [name, loops] : loops_that_run()) {
    CAPTURE(name);
    const WinogradLoops& transforms = upsamples ? loops->winograd_upsampled : loops->winograd_plain;
    std::vector<float> transformed(static_cast<size_t>(products * in_row)),
        sums(static_cast<size_t>(products * shape.padded_outputs()), 0), found = before;
    std::vector<const float*> in_rows(static_cast<size_t>(block.in), nullptr);
    for (int64_t y = in_y.begin; y < in_y.end; ++y)
      in_rows[static_cast<size_t>(y)] = x.data() + (y - in_y.begin) * in_x.length() * shape.inputs;
    transforms.in({in_rows.data(), in_x.begin, in_x.end, shape.inputs, transformed.data(), in_row});
    for (int64_t p = 0; p < products; ++p) {
      for (int64_t o = 0; o < shape.outputs; ++o) {
        double sum = 0;
        for (int64_t i = 0; i < shape.inputs; ++i)
          sum += double(transformed[static_cast<size_t>(p * in_row + i)]) *
                 element(kernel, kernel.winograd, p, i, o);
        sums[static_cast<size_t>(p * shape.padded_outputs() + o)] = float(sum);
      }
    }
    std::vector<float*> out_rows(static_cast<size_t>(block.out), nullptr);
    for (int64_t y = out_y.begin; y < out_y.end; ++y)
      out_rows[static_cast<size_t>(y)] = found.data() + (y - out_y.begin) * out_x.length() * shape.outputs;
    transforms.out({sums.data(), shape.padded_outputs(), shape.outputs, bias.data(), out_rows.data(),
                    out_x.begin, out_x.end});
    double worst = 0, largest = 1;
    for (int64_t y = out_y.begin; y < out_y.end; ++y) {
      for (int64_t column = out_x.begin; column < out_x.end; ++column) {
        for (int64_t o = 0; o < shape.outputs; ++o) {
          const auto at = static_cast<size_t>(
              ((y - out_y.begin) * out_x.length() + column - out_x.begin) * shape.outputs + o);
          double expected = bias[static_cast<size_t>(o)];
          for (int64_t ky = 0; ky < 3; ++ky) {
            for (int64_t kx = 0; kx < 3; ++kx) {
              // Window position 0 is one before the block's first input.
              const int64_t from_y = upsamples ? (y + ky - 1 + 2) / 2 : y + ky;
              const int64_t from_x = upsamples ? (column + kx - 1 + 2) / 2 : column + kx;
              for (int64_t i = 0; i < shape.inputs; ++i)
                expected += input(from_y, from_x, i) *
                            kernel.taps[static_cast<size_t>(((o * shape.inputs + i) * 3 + ky) * 3 + kx)];
            }
          }
          worst = std::max(worst, std::abs(found[at] - expected));
          largest = std::max(largest, std::abs(expected));
        }
      }
    }
    CHECK(worst <= 4e-6 * largest);
  }
}

}  // namespace
}  // namespace headroom::kernels
