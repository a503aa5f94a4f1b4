#pragma once

#include <cstdint>

#include "decoder/graph/graph.h"
#include "decoder/plan/convolution_algorithm.h"

// How convolutions are carried out: what their kernels take once they are packed, and what a call takes
// beside its tiles. The planner counts with it and the runtime allocates by it.
namespace headroom {

/// A minimal filtering algorithm along one axis (Winograd 1980; for convolutions over two axes Lavin and
/// Gray, arXiv:1509.09308): `in` inputs and the kernel, each transformed, give `products` products, and these
/// `out` outputs. Two axes use it one after the other, so a block of out × out outputs costs products ×
/// products multiplications for each pair of channels.
struct WinogradShape {
  int64_t in, products, out;
  int64_t step;  ///< inputs from one block to the next
};

/// F(4,3): four outputs of a three-tap kernel from six inputs. 2.25 multiplications for each output of a 3×3
/// kernel instead of 9. Points 0, ±5/8, ±3/2 and infinity: their powers are exact in fp32.
constexpr WinogradShape kWinogradPlain{6, 6, 4, 4};

/// F(3,2) for each of two phases: six outputs of a three-tap kernel over nearest 2× upsampling, from five
/// inputs before it. Points 0, 1, -1 and infinity. 64 products make 36 outputs: 1.78 multiplications each
/// instead of 9.
constexpr WinogradShape kWinogradUpsampled{5, 8, 6, 3};

/// A convolution's kernel as matrices [input channels × output channels], outputs padded to a multiple of 16.
/// The direct algorithm has one for each tap; over nearest upsampling by 2 one for each of the 2×2 taps of
/// each of the 2×2 phases. Winograd's has one for each product. Of several groups each has matrices of its
/// own, one group after the other; where a group is a single channel there is one number for each tap and
/// channel, channels side by side and padded to a multiple of 16. A kernel over several frames has the
/// matrices of each of its frames, the earliest first.
struct KernelShape {
  int64_t inputs = 0, outputs = 0;
  int64_t rows = 1, columns = 1;
  bool upsamples = false;  ///< 3×3 over nearest upsampling by 2
  int64_t groups = 1;
  int64_t frames = 1;  ///< the output's own, those before it and `frames_ahead` after it
  BeforeFirst before_first = BeforeFirst::zeros;
  int64_t frames_ahead = 0;
  int64_t frames_before() const { return frames - 1 - frames_ahead; }

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

/// The algorithm by which a convolution runs in a pass with this one: kernels other than 3×3 have the direct
/// one only, and few input channels leave nothing to be saved.
ConvolutionAlgorithm algorithm_of(const KernelShape& kernel, ConvolutionAlgorithm of_pass);
/// True where the operation is a convolution that has a Winograd algorithm.
bool has_winograd(const Graph& graph, OpId op);
/// True where a pass with these algorithms computes it so.
bool runs_winograd(const Graph& graph, const ConvolutionAlgorithms& algorithms, OpId op);

/// The blocks of a Winograd convolution over a tile, and how they are shared out: each thread takes chunks of
/// them one after another, and has a buffer for one chunk.
struct WinogradWork {
  int64_t rows = 0, columns = 0;  ///< of blocks, for one frame of one item
  int64_t chunk = 0;              ///< blocks at one time on one thread, at the most
  int64_t input_row_floats = 0;   ///< a block's channels in the transformed input, and in the products
  int64_t output_row_floats = 0;
  int64_t thread_floats = 0;  ///< of one thread's buffer
  int64_t input_product_floats() const { return chunk * input_row_floats + 16; }
  int64_t output_product_floats() const { return chunk * output_row_floats + 16; }
};
/// For outputs of `region`, of `items` items each.
WinogradWork winograd_work(const KernelShape& kernel, const Region& region, int64_t items, int64_t threads);

/// Workspace of one call with so many threads or fewer, at the most, wherever the tile lies.
int64_t convolution_workspace_bytes(const KernelShape& kernel, ConvolutionAlgorithm algorithm,
                                    const Extent& output, int64_t items, int64_t threads);

}  // namespace headroom
