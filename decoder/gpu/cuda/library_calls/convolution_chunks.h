#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "decoder/gpu/calls/calls.h"

namespace headroom::gpu {

/// Bytes that divide every address of a chunk.
constexpr int64_t kCudnnAlignment = 16;

/// A convolution as a library is asked for it: stride 1, nothing padded, the residual added where there is
/// one, then the bias, channels last and side by side. Kernels are [outputs][taps_t][taps_y][taps_x][inputs].
/// Distances are in elements.
struct ConvolutionProblem {
  Dtype dtype = Dtype::fp32;
  int32_t inputs = 0, outputs = 0;
  int32_t taps_t = 1, taps_y = 1, taps_x = 1;
  int64_t frames = 1, rows = 0, columns = 0;  ///< of the outputs; with one tap along the time a batch
  int64_t input_row = 0, input_frame = 0;     ///< from one to the next
  int64_t output_row = 0, output_frame = 0;
  bool adds = false;  ///< a residual, of the outputs' extent
  int64_t residual_row = 0, residual_frame = 0;

  int64_t input_frames() const { return frames + taps_t - 1; }
  int64_t input_rows() const { return rows + taps_y - 1; }
  int64_t input_columns() const { return columns + taps_x - 1; }

  auto operator<=>(const ConvolutionProblem&) const = default;
};

/// A problem and where its values are.
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
    poor,  ///< not as the library would have it with more workspace
    good,
  };

  virtual ~ConvolutionEngine() = default;
  virtual Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) = 0;
  /// Starts a chunk that fits.
  virtual void convolve(const ConvolutionChunk& chunk) = 0;
  virtual void interleave(const Interleave& call) = 0;
};

/// How a library is asked to add a residual.
struct AskedToAdd {
  Convolve call;
  std::optional<Copy> before;  ///< what is to be done first
};

/// cuDNN has precompiled kernels that add a residual in 16 bits whose rows are as far apart as the target's.
/// Any other residual is copied to the target first and added there. The sum is rounded once either way.
/// Convolutions of one tap are left to our own kernels instead, which add any residual.
AskedToAdd as_asked(const Convolve& call);

/// Convolves by a library whatever it can, and returns what it left of the region. Tensors of 2^31 elements
/// or more are cut into chunks of rows, and so are those that would be a good fit if they were smaller.
std::vector<Box> convolve_in_chunks(const Convolve& call, ConvolutionEngine& engine);

}  // namespace headroom::gpu
