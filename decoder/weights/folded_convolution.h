#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/parameters.h"
#include "decoder/lowering/convolution.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// The taps of the four phases of a 3×3 kernel over nearest 2× upsampling. Along an axis an even output reads
/// two positions of the input with taps w0 and w1 + w2, an odd one with w0 + w1 and w2. `taps` are
/// [row][column] of the kernel, `phases` are 4 × 4: the rows of the even phase, then those of the odd one,
/// and the columns likewise. Summed in double, rounded once.
void sum_phases(const float* taps, float* phases);

/// The parameters of one convolution as they are multiplied, in fp32. Whatever stands beside the kernel in
/// the model is folded into kernel and bias:
/// - a batch norm, and the mix factor of a residual sum, scale the taps and the bias of each output;
/// - so do a scale and a shift of the result;
/// - a shortcut adds the weight of the input to the tap that reads it at the output's own position;
/// - over nearest upsampling the kernel becomes those of the four phases (sum_phases());
/// - of a kernel over more frames than the operation has, the last taps count, or their sums where the frames
///   before are the first one again and again (ConvolutionTraits::stored_frames);
/// - outputs that are stored in another order of pixels and channels are put into that of depth_to_space.
/// Reading is const and may happen on several threads at once.
class FoldedConvolution {
 public:
  /// Reads what is folded in. All references must outlive this. Throws what the source throws.
  FoldedConvolution(const Graph& graph, const Op& op, const ParameterSource& source);

  const KernelShape& shape() const { return shape_; }
  /// Taps of one frame of the kernel: of rows and columns, or over upsampling of the four phases.
  int64_t frame_taps() const { return shape_.direct_rows() * shape_.direct_columns(); }
  /// Inputs of a group.
  int64_t group_inputs() const { return shape_.inputs / shape_.groups; }

  /// Taps of one output for some inputs of its group: [frame][input][tap of the frame].
  void read_taps(int64_t output, const Interval& inputs, float* out) const;
  /// One for each output. `with_shift`: the shift of the result is part of it.
  void read_bias(float* out, bool with_shift = true) const;

 private:
  /// Index of an output in the order in which the model stores outputs (StoredOrder).
  int64_t stored_output(int64_t output) const;
  /// Stored taps of one input over one frame of the operation's kernel: `from` is [stored frame][tap].
  void take_frame(const float* from, int64_t frame, float* taps) const;
  void fold_batch_norm();
  void fold_mix_factor();
  void fold_scale();
  void read_stored(int64_t output, const Interval& inputs, float* out) const;
  void add_shortcut(int64_t output, const Interval& inputs, float* own_frame) const;

  const Op& op_;
  const ParameterSource& source_;
  const KernelShape shape_;
  const int64_t stored_frames_;
  const std::vector<Parameter> parameters_;
  const size_t modules_;               ///< whose kernels are stacked along the outputs
  std::vector<double> scale_, shift_;  ///< by output; empty where the convolution's result is as it is
  float shortcut_weight_ = 0;          ///< of the input in the result
};

}  // namespace headroom
