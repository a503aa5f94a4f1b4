#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/cpu/loops/depthwise.h"
#include "decoder/cpu/loops/multiply.h"
#include "decoder/cpu/loops/winograd.h"

// The inner loops, compiled once per instruction set (CMakeLists.txt) and chosen at run time by `loops()`.
// Plain C++ that the compiler vectorises; no thread is started here.
namespace headroom::kernels {

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
