#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Kernel and bias of a convolution that replaces two modules (KernelProduct). Sums are in double, and each
/// result is rounded to fp32 once. Reading is const and may happen on several threads at once.
class MultipliedKernels {
 public:
  /// Reads all parameters of the operation, including a bias without effect, so that they are checked and
  /// hashed. Throws what the source throws.
  MultipliedKernels(const Graph& graph, const Op& op, const ParameterSource& source);

  /// Bytes of an operation's two kernels, which are read whole. 0 unless it replaces two modules.
  static int64_t kernel_bytes(const Graph& graph, const Op& op);

  /// The weights of one output for some inputs. Reading all outputs costs one matrix product, whether inputs
  /// are read together or in parts.
  void read_row(int64_t output, const Interval& inputs, float* out) const;
  void read_bias(float* out) const;

 private:
  float second(int64_t output, int64_t between) const {
    return second_.get()[transposed_ ? between * channels_ + output : output * channels_ + between];
  }

  int64_t channels_;
  bool transposed_;
  double scale_;
  std::shared_ptr<const float> first_, second_;  ///< kernels [output][input]
  std::vector<float> first_bias_, second_bias_;  ///< the second one is zero if it has no effect
};

/// Computes the taps of the four phases of a 3×3 kernel over nearest 2× upsampling. Along an axis an even
/// output reads two positions of the input with taps w0 and w1 + w2, an odd one with w0 + w1 and w2. `taps`
/// are [row][column] of the kernel, `phases` are 4 × 4: the rows of the even phase, then those of the odd
/// one, and the columns likewise. Summed in double, rounded once.
void sum_phases(const float* taps, float* phases);

/// True if the taps of a convolution are the stored ones, or the phases of these, and its bias is the stored
/// one, or if both come from MultipliedKernels alone. A GPU packs such a convolution itself
/// (decoder/gpu/transfers/card_weights.h).
bool packs_on_gpu(const Graph& graph, const Op& op);

/// Final fp32 parameters of one convolution. The model's other parameters are folded into kernel and bias:
/// - the kernels of two modules in a row are multiplied (MultipliedKernels);
/// - a batch norm, and the mix factor of a residual sum, scale the taps and the bias of each output;
/// - so do a scale and a shift of the result;
/// - a shortcut adds the weight of the input to the tap that reads it at the output's own position;
/// - over nearest upsampling the kernel becomes those of the four phases (sum_phases());
/// - a kernel with more frames than the operation keeps its last frames; if the frames before the clip repeat
///   its first one, the other taps are added to the first frame kept (ConvolutionTraits::stored_frames);
/// - outputs that are stored in another order of pixels and channels are reordered for depth_to_space;
/// - with frames in the channels, each pair of an input's and an output's frame has one frame of the kernel,
///   or zeros (ConvolutionTraits::frames, stacks_past).
/// Reading is const and may happen on several threads at once.
class FoldedConvolution {
 public:
  /// Reads the parameters to fold in. All references must outlive this. Throws what the source throws.
  FoldedConvolution(const Graph& graph, const Op& op, const ParameterSource& source);

  const KernelShape& shape() const { return shape_; }
  /// Taps of one frame of the kernel: rows × columns or, over upsampling, those of the four phases.
  int64_t frame_taps() const { return shape_.direct_rows() * shape_.direct_columns(); }
  /// Inputs of a group.
  int64_t group_inputs() const { return shape_.inputs / shape_.groups; }

  /// Taps of one output for some inputs of its group: [frame][input][tap of the frame].
  void read_taps(int64_t output, const Interval& inputs, float* out) const;
  /// Reads one bias per output. `with_shift` includes the shift of the result.
  void read_bias(float* out, bool with_shift = true) const;

 private:
  /// Index of an output in the order in which the model stores outputs (StoredOrder, FramesInChannels).
  int64_t stored_output(int64_t output) const;
  /// The input's frame at which an output's frame is (FramesInChannels).
  int64_t frame_of_input(int64_t output) const;
  int64_t stored_outputs() const {
    return shape_.outputs / op_.convolution.frames.outputs * op_.convolution.frames.made;
  }
  int64_t stored_inputs() const { return group_inputs() / op_.convolution.frames.inputs; }
  void read_frames(int64_t output, const Interval& inputs, float* out) const;
  /// Stored taps of one input over one frame of the operation's kernel: `from` is [stored frame][tap].
  void take_frame(const float* from, int64_t frame, float* taps) const;
  void fold_batch_norm();
  void fold_mix_factor();
  void fold_scale();
  void read_stored(int64_t output, const Interval& inputs, float* out) const;
  /// Stored taps where positions hold several frames, or where the inputs of two frames are stacked.
  void read_by_frame(int64_t output, const Interval& inputs, float* out) const;
  void add_shortcut(int64_t output, const Interval& inputs, float* own_frame) const;

  const Op& op_;
  const ParameterSource& source_;
  const KernelShape shape_;
  const int64_t stored_frames_;
  const std::vector<Parameter> parameters_;
  const size_t modules_;                      ///< modules whose kernels are stacked along the outputs
  std::optional<MultipliedKernels> product_;  ///< unset if the operation is a module of its own
  std::vector<double> scale_, shift_;         ///< by output; empty if nothing scales the result
  float shortcut_weight_ = 0;                 ///< of the input in the result
};

}  // namespace headroom
