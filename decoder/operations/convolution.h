#pragma once

#include <cstdint>

#include "decoder/devices/convolution_algorithm.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/tf32.h"

// Sizes of packed kernels and of convolution workspaces. The planner predicts memory from them, and the
// runtime allocates by them.
namespace headroom {

/// A minimal filtering algorithm along one axis (Winograd 1980; for convolutions over two axes Lavin and
/// Gray, arXiv:1509.09308). It transforms `in` inputs and the kernel, multiplies them into `products`
/// products, and transforms these into `out` outputs. Two axes apply it in turn, so a block of out × out
/// outputs costs products × products multiplications per pair of channels.
struct WinogradShape {
  int64_t in, products, out;
  int64_t step;  ///< distance between blocks, in inputs
};

/// F(4,3): four outputs of a three-tap kernel from six inputs. 2.25 multiplications for each output of a 3×3
/// kernel instead of 9. Points 0, ±5/8, ±3/2 and infinity: their powers are exact in fp32.
constexpr WinogradShape kWinogradPlain{6, 6, 4, 4};

/// F(3,2) for each of two phases: six outputs of a three-tap kernel over nearest 2× upsampling, from five
/// inputs before it. Points 0, 1, -1 and infinity. 64 products make 36 outputs: 1.78 multiplications each
/// instead of 9.
constexpr WinogradShape kWinogradUpsampled{5, 8, 6, 3};

/// A convolution's kernel as matrices [input channels × output channels]. Outputs are padded to a multiple of
/// 16.
/// The direct algorithm has one matrix per tap. Over nearest upsampling by 2, it has one per tap of the 2×2
/// taps of the 2×2 phases. Winograd's algorithm has one matrix per product.
/// Groups follow one another, each with its own matrices. Depthwise kernels instead have one number per tap
/// and channel. Their channels are adjacent and padded to a multiple of 16. A kernel over several frames has
/// matrices for each frame, the earliest first.
struct KernelShape {
  int64_t inputs = 0, outputs = 0;
  int64_t rows = 1, columns = 1;
  bool upsamples = false;  ///< 3×3 over nearest upsampling by 2
  int64_t groups = 1;
  int64_t frames = 1;  ///< kernel length along the time: frames before the output's own, its own, and
                       ///< `frames_ahead` after it
  BeforeFirst before_first = BeforeFirst::zeros;
  int64_t frames_ahead = 0;
  Axes<int32_t> stride{1, 1, 1};
  bool begins_at_own = false;  ///< ConvolutionTraits::begins_at_own
  int64_t frames_before() const { return frames - 1 - frames_ahead; }
  int64_t rows_before() const { return begins_at_own ? 0 : rows / 2; }
  int64_t columns_before() const { return begins_at_own ? 0 : columns / 2; }

  bool depthwise() const { return groups > 1 && groups == inputs && groups == outputs; }
  KernelShape of_group() const { return {inputs / groups, outputs / groups, rows, columns}; }

  int64_t direct_rows() const { return upsamples ? 4 : rows; }
  int64_t direct_columns() const { return upsamples ? 4 : columns; }
  const WinogradShape& winograd() const { return upsamples ? kWinogradUpsampled : kWinogradPlain; }
  int64_t frame_matrices(ConvolutionAlgorithm algorithm) const;
  int64_t matrices(ConvolutionAlgorithm algorithm) const { return frames * frame_matrices(algorithm); }
  int64_t padded_outputs() const { return (outputs + 15) / 16 * 16; }
  int64_t matrix_floats() const { return inputs * padded_outputs(); }
  int64_t floats(ConvolutionAlgorithm algorithm) const;
};
KernelShape kernel_shape(const Graph& graph, const Op& conv);

/// The algorithm of a convolution in a pass that selects `of_pass`. Only 3×3 kernels have Winograd's
/// algorithm. With few input channels it saves nothing, so the direct one runs.
ConvolutionAlgorithm algorithm_of(const KernelShape& kernel, ConvolutionAlgorithm of_pass);
/// True if the operation is a convolution with a Winograd algorithm.
bool has_winograd(const Graph& graph, OpId op);
/// True if a pass with these algorithms computes the operation by Winograd's algorithm.
bool runs_winograd(const Graph& graph, const ConvolutionAlgorithms& algorithms, OpId op);

/// The blocks of a Winograd convolution over a tile, and their distribution. Each thread computes one chunk
/// of blocks after another in its own buffer.
struct WinogradWork {
  int64_t rows = 0, columns = 0;  ///< number of blocks along each axis, for one frame of one item
  int64_t chunk = 0;              ///< largest number of blocks in a chunk
  int64_t input_row_floats = 0;   ///< stride of a block in the transformed input: its channels, padded to a
                                  ///< cache line
  int64_t output_row_floats = 0;
  int64_t thread_floats = 0;  ///< of one thread's buffer
  int64_t input_product_floats() const { return chunk * input_row_floats + 16; }
  int64_t output_product_floats() const { return chunk * output_row_floats + 16; }
};
/// Work for the outputs in `region` of `items` batch items.
WinogradWork winograd_work(const KernelShape& kernel, const Region& region, int64_t items, int64_t threads);

/// Upper bound on the workspace of one call with at most `threads` threads, wherever the tile lies.
int64_t convolution_workspace_bytes(const KernelShape& kernel, ConvolutionAlgorithm algorithm,
                                    const Extent& output, int64_t items, int64_t threads);

/// True if a convolution or attention in fp32 on a GPU may round its inputs to TF32.
inline bool may_use_tf32(const Op& op, const Tf32& tf32) {
  return op.kind == OpKind::conv && !op.convolution.linear ? tf32.convolutions : tf32.products;
}

}  // namespace headroom
