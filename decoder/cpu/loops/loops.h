#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/operations/convolution.h"

namespace headroom::kernels {

/// Read offsets of one tap of a convolution, in floats from the product's `a` and `b`.
struct Tap {
  int64_t a = 0;
  int64_t b = 0;
};

/// c[row][column] = sum over taps and depth of a[tap.a + row * a_row + k] * b[tap.b + k * width + column],
/// for one panel. A 1×1 convolution has one tap, a 3×3 one nine: rows are then neighbouring pixels.
struct Product {
  const float* a = nullptr;
  int64_t a_row = 0;  ///< floats between rows
  const float* b = nullptr;
  int64_t width = 0;  ///< of the panel (packing.h): a multiple of 16
  const Tap* taps = nullptr;
  int64_t tap_count = 0;
  int64_t depth = 0;
  float* c = nullptr;
  int64_t c_row = 0;
  int64_t rows = 0;
  int64_t columns = 0;           ///< of c, at most `width`; further columns of b are ignored
  const float* bias = nullptr;   ///< `columns` values added to each row; null for none
  bool add = false;              ///< add to c instead of overwriting it
  const float* ahead = nullptr;  ///< the next panel, to be prefetched; may be null
};

/// One row of outputs of a depthwise convolution. Channels lie side by side.
struct DepthwiseRow {
  const float* const* rows = nullptr;  ///< one for each row of the kernel, at the first output's window
  int64_t kernel_rows = 1, kernel_columns = 1;
  int64_t channels = 0;
  const float* kernel = nullptr;  ///< [row][column][channel]
  int64_t kernel_channels = 0;    ///< channels there, a multiple of 16
  const float* bias = nullptr;    ///< one for each channel
  float* out = nullptr;
  int64_t pixels = 0;
};

/// Kernel taps along one axis: three of a plain kernel, or two for each of the two upsampling phases.
constexpr int64_t kPlainTaps = 3, kUpsampledTaps = 4;

/// transformed = map · taps, along one axis; in double, so that it is rounded once.
extern const std::array<std::array<double, kPlainTaps>, 6> kPlainKernelMap;
extern const std::array<std::array<double, kUpsampledTaps>, 8> kUpsampledKernelMap;

/// Inputs of one block. Rows outside the tile are null. Rows point at `first_column`, and only columns
/// [first_column, end_column) of the window are present. Absent inputs are zero.
struct WinogradInput {
  const float* const* rows = nullptr;  ///< as many as WinogradShape::in
  int64_t first_column = 0, end_column = 0;
  int64_t channels = 0;
  float* transformed = nullptr;  ///< [product][...]: `channels` floats rounded up to 16 for each product
  int64_t product_distance = 0;  ///< floats from one product to the next
};

/// Outputs of one block. Null rows are not written.
struct WinogradOutput {
  const float* products = nullptr;
  int64_t product_distance = 0;
  int64_t channels = 0;
  const float* bias = nullptr;   ///< `channels` values
  float* const* rows = nullptr;  ///< as many as WinogradShape::out
  int64_t first_column = 0, end_column = 0;
};

// The inner loops, compiled once per instruction set (CMakeLists.txt) and chosen at run time by `loops()`.
// Plain C++ that the compiler vectorises; no thread is started here.

/// The transforms of one Winograd algorithm, a block at a time.
struct WinogradLoops {
  void (*in)(const WinogradInput& block);
  void (*out)(const WinogradOutput& block);
};

struct Loops {
  /// out = x * scale + shift per channel.
  void (*affine)(const float* x, float* out, int64_t pixels, int64_t channels, const float* scale,
                 const float* shift);
  /// out = silu(x * scale + shift) per channel.
  void (*affine_silu)(const float* x, float* out, int64_t pixels, int64_t channels, const float* scale,
                      const float* shift);
  /// Activations by themselves, in place where out == x.
  void (*silu)(const float* x, float* out, int64_t count);
  void (*relu)(const float* x, float* out, int64_t count);
  /// out = x / sqrt(mean of the pixel's squares + epsilon) * weight + bias; in place where out == x.
  void (*rms_norm)(const float* x, float* out, int64_t pixels, int64_t channels, const float* weight,
                   const float* bias, float epsilon);
  /// Like rms_norm, but subtracts the mean of the pixel from x first.
  void (*layer_norm)(const float* x, float* out, int64_t pixels, int64_t channels, const float* weight,
                     const float* bias, float epsilon);
  void (*depthwise)(const DepthwiseRow& row);
  /// The largest of `count` ≥ 1 values.
  float (*largest)(const float* x, int64_t count);
  /// x = e^(x - shift), in place; returns their sum. Below e^-86 it is zero.
  float (*exponentials)(float* x, int64_t count, float shift);
  /// x = x * factor, in place.
  void (*scale)(float* x, int64_t count, float factor);
  /// Adds values and squares of 16 neighbouring channels over `pixels` pixels to sum and square_sum.
  void (*sum_16)(const float* x, int64_t pixels, int64_t channels, double* sum, double* square_sum);
  void (*multiply)(const Product& product);
  /// Columns that multiply() takes at one time. A panel has this width.
  int64_t block_columns = 16;
  WinogradLoops winograd_plain;
  WinogradLoops winograd_upsampled;
  /// Between fp32 and 16 bits, rounding to nearest even.
  void (*widen_bf16)(const uint16_t* from, float* to, int64_t count);
  void (*widen_fp16)(const uint16_t* from, float* to, int64_t count);
  void (*narrow_bf16)(const float* from, uint16_t* to, int64_t count);
  void (*narrow_fp16)(const float* from, uint16_t* to, int64_t count);
  /// The checksum of `count` groups (decoder/base/checksum.h), of which the first has the number `first`.
  uint64_t (*checksum)(const std::byte* groups, int64_t count, int64_t first);
};

extern const Loops baseline_loops;
extern const Loops avx2_loops;
extern const Loops avx512_loops;

struct NamedLoops {
  const char* name;  ///< of the instruction set
  const Loops* loops;
};
/// The loops that this processor can run, the fastest last.
std::vector<NamedLoops> loops_that_run();
/// The fastest.
const NamedLoops& fastest_loops();
/// The fastest, or those of the last use_loops().
const Loops& loops();
/// Only for tests, while no decode runs. Kernels packed with other loops cannot be used.
void use_loops(const NamedLoops& loops);

}  // namespace headroom::kernels

namespace headroom {

/// The operating system's name for the processor, or "CPU" if it has none.
std::string processor_name();

}  // namespace headroom
