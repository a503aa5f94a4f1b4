#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/graph/axes.h"
#include "decoder/graph/operations.h"

namespace headroom {

enum class TensorId : int32_t {};
enum class OpId : int32_t {};
constexpr size_t index(TensorId id) {
  return static_cast<size_t>(id);
}
constexpr size_t index(OpId id) {
  return static_cast<size_t>(id);
}

/// True if the list has this id. A linear search is enough: lists of a pass or a frontier are short.
template <typename Id>
bool contains(const std::vector<Id>& list, Id id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

enum class Dtype { fp32, bf16, fp16 };
int64_t bytes_per_element(Dtype dtype);
const char* name_of(Dtype dtype);
/// Also by torch's names, float32, bfloat16 and float16. Throws InputError where `text` is none of these.
Dtype parse_dtype(const std::string& text, const std::string& option = "dtype");

/// A value that flows through the decoder, written N×C×T×H×W. Its rows and columns are the latent's times
/// `scale`; along the time the first frame is one frame at every scale, and each later one as many as the
/// scale says: (latent's frames - 1) * scale.t + 1. Statistics have no positions: they are `channels` (mean,
/// 1/deviation) pairs per batch item, or as many sums.
struct Tensor {
  std::string name;
  int64_t channels = 0;
  Axes<int32_t> scale{1, 1, 1};
  bool statistics = false;
  OpId producer{-1};  ///< -1 for the latent
  /// A pass may end here although no barrier asks for it: what comes after can be computed from this tensor
  /// alone.
  bool cut_point = false;
};

enum class Activation {
  none,
  silu,
  relu,
  gelu,
  mish,
  clamp,       ///< to -1 … 1
  soft_clamp,  ///< to -3 … 3: tanh(v / 3) * 3
};

/// Frames that a convolution over time reads before the first frame.
enum class BeforeFirst {
  zeros,
  first_frame,       ///< the first frame, again and again
  zeros_for_it_too,  ///< zeros, and in place of the first frame as well: it is no frame of this history
};

/// Values that a convolution reads outside the picture: above, below, left and right of its input.
/// BeforeFirst gives the frames before the first one.
enum class Edges {
  zeros,
  replicate,  ///< the nearest position of the picture
  reflect,    ///< the picture mirrored at its outermost positions, which are not repeated: -1 is 1; where
              ///< there is but one position, that one
};
const char* name_of(Edges edges);

/// Which frames attention mixes.
enum class AttentionFrames {
  each,         ///< every frame by itself
  interleaved,  ///< with T frames and C channels, value c * T + t of a position counts as channel of the
                ///< frame that it would have were the C * T values cut into T runs of C
  up_to_own,  ///< every frame with all before it: queries of a frame, keys and values of the first one to it
};
/// The frames whose keys and values the queries of a frame attend to. Each of them is taken whole, so nothing
/// masks a key. Interleaved frames are counted as their values are put together.
constexpr Interval attended_frames(AttentionFrames frames, int64_t frame) {
  return {frames == AttentionFrames::up_to_own ? 0 : frame, frame + 1};
}

/// How a model stores outputs that are pixels of squares, the last named counted first.
enum class StoredOrder {
  channel_row_column,  ///< as depth_to_space takes them
  channel_column_row,
  row_column_channel,
};

/// In which order channels hold the pixels that depth_to_space makes of them.
enum class DepthOrder {
  channel_first,  ///< frames and pixels of a channel lie side by side; of the first frame the last of them
                  ///< count
  pixel_first,    ///< channels of a pixel lie side by side, frame by frame; the first frame is made of all
                  ///< channels, cut into the pixels of one frame, of which its first ones count
};

/// Properties of a convolution other than its kernel's extent.
struct ConvolutionTraits {
  bool bias = true;
  int32_t groups = 1;     ///< of channels, each convolved by itself
  bool shortcut = false;  ///< adds its input, each channel repeated until there are as many as outputs; where
                          ///< it upsamples by f, as f² times as many, then depth to space
  /// Channel order of a shortcut that does not upsample. True: the whole list repeats (0 1 0 1). False: each
  /// channel repeats (0 0 1 1).
  bool tiled_shortcut = false;
  Activation activation = Activation::none;  ///< of the result
  /// Modules whose weights are stacked along the outputs; the operation's own where there are none.
  std::vector<std::string> stacked{};
  /// A batch norm with stored statistics, which becomes part of kernel and bias; empty where there is none.
  std::string batch_norm{};
  bool over_frames = false;  ///< the kernel is stored with an axis for the time, even where that is 1 long
  BeforeFirst before_first = BeforeFirst::zeros;
  /// Frames after its own that the kernel reads; after the last one the last one, again and again. Where
  /// there are some, before the first is the first one.
  int32_t frames_ahead = 0;
  /// Over upsampling: of the upsampled tensor.
  Edges edges = Edges::zeros;
  /// Frames of the stored kernel where the operation has fewer, because all before the first frame is known
  /// (Graph::of_one_frame()): its last taps alone, or of frames that are the first one again and again their
  /// sums. 0 where it has them all.
  int32_t stored_frames = 0;
  /// The outputs are the pixels of squares with this side, stored in this order, computed in that of
  /// depth_to_space.
  int32_t stored_side = 1;
  StoredOrder stored_order = StoredOrder::channel_row_column;
  /// The module whose outputs are cut into `parts` equal parts, of which this operation is number `part`;
  /// empty where it is a whole one.
  std::string part_of{};
  int32_t part = 0, parts = 1;
  /// A single stored number m, of which the result is sigmoid(m) * input + (1 - sigmoid(m)) * convolution;
  /// empty where there is none.
  std::string mix_factor{};
  /// Every output becomes output * scale + shift. Excludes a shortcut.
  double scale = 1, shift = 0;
};

/// In place of Op::gamma_axes: an rms_norm that has weight and bias, and one that has no parameters.
constexpr int32_t kWeightAndBias = -1, kNoParameters = -2;

/// One operation. Parameters are named as the model's own code names them: `<name>.weight` and `<name>.bias`.
struct Op {
  std::string name;
  OpKind kind{};
  std::vector<TensorId> inputs{};
  TensorId output{-1};
  Axes<int32_t> kernel{1, 1, 1};  ///< conv: odd along rows and columns; along the time it ends at its own
                                  ///< frame, or so many after it as ConvolutionTraits::frames_ahead says
  Axes<int32_t> factor{1, 1, 1};  ///< upsample, conv, depth_to_space, interpolate, unfold_frames
  int32_t frames_in_depth = 1;    ///< depth_to_space
  DepthOrder depth_order = DepthOrder::channel_first;  ///< depth_to_space
  int32_t groups = 0;  ///< statistics, norm, conv; heads of key_value_sums and linear_attention
  double epsilon = 0;  ///< statistics, rms_norm, linear_attention, and of a convolution's batch norm
  Activation activation = Activation::none;
  ConvolutionTraits convolution{};                 ///< conv
  bool by_frame = false;                           ///< statistics: of each frame by itself
  AttentionFrames frames = AttentionFrames::each;  ///< attention
  /// rms_norm: axes of extent 1 behind the channels of its only parameter, `<name>.gamma`; or one of the
  /// constants above.
  int32_t gamma_axes = kWeightAndBias;
  bool centred = false;  ///< rms_norm: of x less its mean
};

/// A decoder as operations over tensors: no weights, no sizes. Operations stand in topological order.
class Graph {
 public:
  /// The latent. Called once, first.
  TensorId add_latent(int64_t channels);
  TensorId conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel,
                const ConvolutionTraits& traits = {});
  /// A 3×3 convolution of x upsampled by 2 along rows and columns: four phases with 2×2 kernels on x itself.
  /// Over so many `frames`, which are not upsampled.
  TensorId upsampled_conv(const std::string& name, TensorId x, int64_t channels,
                          const ConvolutionTraits& traits = {}, int32_t frames = 1);
  /// Each frame after the first becomes two.
  TensorId repeat_frames(const std::string& name, TensorId x);
  TensorId upsample(const std::string& name, TensorId x, Axes<int32_t> factor);
  TensorId statistics(const std::string& name, TensorId x, int32_t groups, double epsilon,
                      bool by_frame = false);
  TensorId norm(const std::string& name, TensorId x, TensorId statistics, Activation activation);
  TensorId add(const std::string& name, TensorId a, TensorId b, Activation activation = Activation::none);
  TensorId attention(const std::string& name, TensorId q, TensorId k, TensorId v,
                     AttentionFrames frames = AttentionFrames::each);
  /// `gamma_axes` as in Op.
  TensorId rms_norm(const std::string& name, TensorId x, double epsilon, Activation activation,
                    int32_t gamma_axes = kWeightAndBias);
  /// rms_norm() of x minus the mean over the channels of each position, with weight and bias.
  TensorId layer_norm(const std::string& name, TensorId x, double epsilon, Activation activation);
  TensorId interpolate(const std::string& name, TensorId x, Axes<int32_t> factor);
  /// `rest` has twice as many channels as `x`.
  TensorId unfold_frames(const std::string& name, TensorId x, TensorId rest);
  TensorId gate(const std::string& name, TensorId x);
  TensorId depth_to_space(const std::string& name, TensorId x, Axes<int32_t> factor);
  /// depth_to_space() that makes frames too. Of the first frame's `factor.t` frames only the last is used.
  TensorId depth_to_frames(const std::string& name, TensorId x, Axes<int32_t> factor);
  /// depth_to_space() where each position of `x` becomes `frames_in_depth` frames of pixels with `channels`
  /// channels. Repeats each channel of `x` until there are enough. The first frame yields only one frame
  /// (DepthOrder). With `factor.t` of 1, every frame yields only one.
  TensorId repeated_depth_to_space(const std::string& name, TensorId x, int64_t channels,
                                   Axes<int32_t> factor, int32_t frames_in_depth,
                                   DepthOrder order = DepthOrder::channel_first);
  /// Heads lie one after another across `inputs`, each with q, k and v of `head_channels` each.
  TensorId key_value_sums(const std::string& name, const std::vector<TensorId>& inputs,
                          int64_t head_channels);
  /// `inputs` are those of key_value_sums(). `epsilon` avoids division by zero.
  TensorId linear_attention(const std::string& name, const std::vector<TensorId>& inputs, TensorId sums,
                            double epsilon);
  TensorId activate(const std::string& name, TensorId x, Activation activation);
  /// Marks a tensor at which a pass may end, and returns it. Later operations read it and
  /// may read earlier cut points, but no other earlier tensor.
  TensorId add_cut_point(TensorId id) {
    tensors_[index(id)].cut_point = true;
    return id;
  }
  void set_output(TensorId tensor) { output_ = tensor; }

  TensorId latent() const { return TensorId{0}; }
  TensorId output() const { return output_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Op>& ops() const { return ops_; }
  const Tensor& tensor(TensorId id) const { return tensors_[index(id)]; }
  const Op& op(OpId id) const { return ops_[index(id)]; }
  /// Null for the latent.
  const Op* producer(TensorId id) const;
  /// Operations that read the tensor.
  const std::vector<OpId>& readers(TensorId id) const { return readers_[index(id)]; }
  /// Returns -1 where no tensor has this name.
  TensorId find_tensor(const std::string& name) const;
  /// Returns -1 where no operation has this name.
  OpId find_op(const std::string& name) const;
  /// This decoder, simplified for latents of one frame (single_frame.cpp).
  Graph of_one_frame() const;

 private:
  TensorId append(Op op, int64_t channels, Axes<int32_t> scale, bool statistics = false);
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<std::vector<OpId>> readers_;
  TensorId output_{-1};
};

}  // namespace headroom
