#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/support/gpu.h"
#include "tests/support/plain_convolution.h"

namespace headroom::gpu {
namespace {

using test::HeldView;
using test::length;
using test::Random;

/// Largest error of one rounding.
double half_step(Dtype dtype, double value) {
  const double relative = dtype == Dtype::fp32 ? 0x1p-24 : dtype == Dtype::fp16 ? 0x1p-11 : 0x1p-8;
  return relative * std::abs(value) + (dtype == Dtype::fp16 ? 0x1p-25 : 0);
}

struct Trial {
  const char* name;
  ConvolutionShape shape;
  Box region;
  int32_t around = 0;  ///< extra rows and columns of the tiles on each side
};

const std::vector<Trial> kTrials{
    {"3×3", {.inputs = 64, .outputs = 128, .rows = 3, .columns = 3}, {{0, 1}, {0, 12}, {0, 24}}},
    {"3×3 of a wider tile",
     {.inputs = 64, .outputs = 64, .rows = 3, .columns = 3},
     {{0, 1}, {3, 14}, {5, 24}},
     2},
    {"1×1", {.inputs = 128, .outputs = 64}, {{0, 1}, {0, 16}, {0, 33}}},
    {"from the latent", {.inputs = 4, .outputs = 64, .rows = 3, .columns = 3}, {{0, 1}, {0, 20}, {0, 20}}},
    {"to colours", {.inputs = 64, .outputs = 3, .rows = 3, .columns = 3}, {{0, 1}, {0, 20}, {0, 20}}},
    {"over upsampling",
     {.inputs = 64, .outputs = 64, .rows = 3, .columns = 3, .upsamples = true},
     {{0, 1}, {7, 24}, {0, 19}}},
    {"over time alone", {.inputs = 32, .outputs = 32, .frames = 3}, {{0, 5}, {0, 8}, {0, 12}}},
    {"over time",
     {.inputs = 32, .outputs = 32, .frames = 3, .rows = 3, .columns = 3},
     {{0, 5}, {0, 12}, {0, 20}}},
    {"over time, from the first frame again and again",
     {.inputs = 32,
      .outputs = 32,
      .frames = 3,
      .rows = 3,
      .columns = 3,
      .before_first = BeforeFirst::first_frame},
     {{0, 4}, {0, 12}, {0, 20}}},
    {"frames as a batch", {.inputs = 32, .outputs = 32, .rows = 3, .columns = 3}, {{1, 5}, {0, 12}, {0, 20}}},
    {"every second row and column",
     {.inputs = 64, .outputs = 64, .rows = 3, .columns = 3, .stride = {1, 2, 2}},
     {{0, 1}, {3, 12}, {5, 20}}},
    {"every second row and column, from the own one",
     {.inputs = 64, .outputs = 128, .rows = 3, .columns = 3, .stride = {1, 2, 2}, .begins_at_own = true},
     {{0, 1}, {0, 12}, {0, 20}},
     1},
    {"every second frame",
     {.inputs = 32, .outputs = 32, .frames = 3, .stride = {2, 1, 1}},
     {{1, 5}, {0, 8}, {0, 12}}},
    {"groups",
     {.inputs = 64, .outputs = 64, .groups = 2, .rows = 3, .columns = 3},
     {{0, 1}, {0, 12}, {0, 20}}},
    {"a group for each channel",
     {.inputs = 96, .outputs = 96, .groups = 96, .rows = 5, .columns = 5},
     {{0, 1}, {0, 12}, {0, 20}}},
};

/// Location of the residual, which is added before rounding.
enum class Residual { none, beside, in_place };

struct Way {
  Dtype dtype;
  int64_t workspace_bytes;
  Residual residual = Residual::none;
};

/// A trial's input and its reference output. The reference loops dominate the run time, so all ways of
/// computing a trial share one reference.
struct Expected {
  Expected(const Trial& of, Dtype dtype)
      : trial(of),
        random(1),
        convolution(random, of.shape, dtype),
        input(held(of), of.shape.inputs, length(held(of).y), dtype) {
    input.fill(random, 1);
    test::for_positions(trial.region, [&](int32_t t, int32_t y, int32_t x) {
      sums.push_back(convolution.output(input, t, y, x));
    });
  }
  Box held(const Trial& of) const {
    return test::widened(convolution.needed(of.region), of.around, of.around);
  }

  const Trial& trial;
  Random random;
  test::PlainConvolution convolution;
  HeldView input;
  std::vector<std::vector<double>> sums;  ///< by position of the region
};

/// Largest difference from the reference, beyond the error of one rounding.
double worst_of(Gpu& gpu, Expected& expected, const Way& way) {
  const Trial& trial = expected.trial;
  const ConvolutionShape& shape = trial.shape;
  const Box around = test::widened(trial.region, trial.around, trial.around);
  HeldView before(around, shape.outputs, length(around.y), way.dtype);
  constexpr float kUntouched = 77;
  before.fill(kUntouched);
  HeldView residual(around, shape.outputs, length(around.y), way.dtype);
  residual.fill(expected.random, 1);
  HeldView& target = way.residual == Residual::in_place ? residual : before;

  test::OnGpu memory(gpu, int64_t{128} << 20);
  Convolve call;
  call.input = memory.send(expected.input);
  call.target = memory.send(target);
  if (way.residual == Residual::beside) call.residual = memory.send(residual);
  if (way.residual == Residual::in_place) call.residual = call.target;
  call.region = trial.region;
  call.shape = shape;
  call.kernel = memory.send(expected.convolution.kernel());
  call.bias = memory.send(expected.convolution.bias());
  call.workspace = memory.take(std::max(int64_t{0}, way.workspace_bytes));
  call.workspace_bytes = way.workspace_bytes;
  gpu.run(call);
  HeldView found(around, shape.outputs, length(around.y), way.dtype);
  memory.fetch(call.target.base, found.memory);

  double worst = 0;
  auto sums = expected.sums.begin();
  test::for_positions(around, [&](int32_t t, int32_t y, int32_t x) {
    const bool inside = y >= trial.region.y.begin && y < trial.region.y.end && x >= trial.region.x.begin &&
                        x < trial.region.x.end;
    for (int32_t o = 0; o < shape.outputs; ++o) {
      const double added = way.residual == Residual::none ? 0 : residual.value(t, y, x, o);
      const double value = inside ? (*sums)[static_cast<size_t>(o)] + added : target.value(t, y, x, o);
      worst = std::max(worst, std::abs(found.value(t, y, x, o) - value) - half_step(way.dtype, value));
    }
    if (inside) ++sums;
  });
  CHECK(sums == expected.sums.end());
  return worst;
}

// Bound for some hundred products summed in fp32. TF32 or sums in 16 bits would be a thousand times worse.
constexpr double kMostWorst = 3e-5;

/// Runs every trial in one dtype. Separate test cases per dtype can run in parallel.
void check_trials(Dtype dtype) {
  const std::unique_ptr<Gpu> gpu = test::gpu_or_skip();
  if (!gpu) return;
  for (const Trial& trial : kTrials) {
    Expected expected(trial, dtype);
    // A negative workspace excludes all library plans and selects our own kernels.
    for (const int64_t workspace_bytes : {int64_t{-1}, int64_t{0}, int64_t{1} << 18, int64_t{64} << 20}) {
      CAPTURE(trial.name, workspace_bytes);
      CHECK(worst_of(*gpu, expected, {dtype, workspace_bytes}) < kMostWorst);
    }
    if (trial.shape.upsamples) continue;
    for (const int64_t workspace_bytes : {int64_t{-1}, int64_t{64} << 20}) {
      for (const Residual residual : {Residual::beside, Residual::in_place}) {
        CAPTURE(trial.name, workspace_bytes, residual == Residual::in_place);
        CHECK(worst_of(*gpu, expected, {dtype, workspace_bytes, residual}) < kMostWorst);
      }
    }
  }
}

// Residuals are added before rounding, from a buffer of their own or in place.
TEST_CASE("convolutions on a GPU equal plain loops: fp32") {
  check_trials(Dtype::fp32);
}
TEST_CASE("convolutions on a GPU equal plain loops: fp16") {
  check_trials(Dtype::fp16);
}
TEST_CASE("convolutions on a GPU equal plain loops: bf16") {
  check_trials(Dtype::bf16);
}

}  // namespace
}  // namespace headroom::gpu
