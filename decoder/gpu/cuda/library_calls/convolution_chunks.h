#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "decoder/gpu/calls/calls.h"

namespace headroom::gpu {

/// Alignment of every address of a chunk, in bytes.
constexpr int64_t kCudnnAlignment = 16;

/// A convolution as passed to a library: stride 1, no padding, channels last and contiguous. The residual, if
/// any, is added before the bias. Kernels are [outputs][taps_t][taps_y][taps_x][inputs]. Strides are in
/// elements.
struct ConvolutionProblem {
  Dtype dtype = Dtype::fp32;
  bool tf32 = false;  ///< fp32 inputs may be rounded to TF32
  int32_t inputs = 0, outputs = 0;
  int32_t taps_t = 1, taps_y = 1, taps_x = 1;
  int64_t frames = 1, rows = 0, columns = 0;  ///< of the outputs; frames are a batch if taps_t is 1
  int64_t input_row = 0, input_frame = 0;     ///< strides
  int64_t output_row = 0, output_frame = 0;
  bool adds = false;  ///< adds a residual of the outputs' extent
  int64_t residual_row = 0, residual_frame = 0;

  int64_t input_frames() const { return frames + taps_t - 1; }
  int64_t input_rows() const { return rows + taps_y - 1; }
  int64_t input_columns() const { return columns + taps_x - 1; }

  auto operator<=>(const ConvolutionProblem&) const = default;
};

/// A problem with the addresses of its operands.
struct ConvolutionChunk {
  ConvolutionProblem problem;
  const std::byte* input = nullptr;
  const std::byte* kernel = nullptr;
  const void* bias = nullptr;
  const std::byte* residual = nullptr;  ///< may be the output
  std::byte* output = nullptr;
  std::byte* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

/// A library's convolutions.
class ConvolutionEngine {
 public:
  enum class Fit {
    none,
    poor,  ///< the library has a better engine with more workspace
    good,
  };

  virtual ~ConvolutionEngine() = default;
  virtual Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) = 0;
  /// Starts a chunk that fits.
  virtual void convolve(const ConvolutionChunk& chunk) = 0;
  /// Starts one of our own kernels in order with the chunks: Copy or Interleave.
  virtual void run(const Call& call) = 0;
};

/// A call rewritten so that a library can add its residual.
struct AskedToAdd {
  Convolve call;
  std::optional<Copy> before;  ///< copy to run before the call
};

/// cuDNN has precompiled kernels that add a 16-bit residual with the target's row stride. Any other residual
/// is copied to the target first and added in place. The sum is rounded once either way. One-tap convolutions
/// whose residual would be added in place stay unchanged: cuDNN would round twice, so our own kernels run
/// them. Strided convolutions stay unchanged too, because they run on our own kernels anyway.
AskedToAdd as_asked(const Convolve& call);

/// Runs the parts of a convolution that the library supports, and returns the boxes that it left out. Splits
/// tensors of 2^31 elements or more into chunks of frames, and frames into chunks of rows. Also splits
/// smaller tensors if only their chunks are a good fit. Frames whose kernel reads zeros before the first
/// frame run with a shorter kernel, without those taps. The workspace holds a copy of it.
std::vector<Box> convolve_in_chunks(const Convolve& call, ConvolutionEngine& engine);

}  // namespace headroom::gpu
