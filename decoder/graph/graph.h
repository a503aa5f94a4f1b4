#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/base/axes.h"

namespace headroom {

// The list of operations. To add one, add a line here and follow HACKING.md. In a graph, an operation turns
// {inputs} into a result. In a tile program, a step carries it out on one tile.
//
// A barrier is an input that must be complete over the whole picture before the operation can make any
// output. A pass ends there.
//
//   conv              {x} -> y: convolution, padded to keep the extent. With `factor`, it reads x upsampled
//                     (nearest) but never stores the upsampled tensor. With `stride`, it makes every
//                     stride-th output
//   upsample          {x} -> y: nearest, by `factor`
//   norm              {x, s} -> y: (x - mean) / deviation * weight + bias, then `activation`
//   add               {a, b} -> y: a + b, then `activation`
//   attention         {q, k, v} -> y: softmax(q kᵀ) v, one head. q includes the usual factor 1/√channels.
//                     Queries attend to all positions of some frames of k and v (AttentionFrames). k and v
//                     are barriers, and may be one tensor
//   rms_norm          {x} -> y: x / root mean square over the channels of its position * weight + bias, then
//                     `activation`. If centred, subtracts the mean first (layer norm)
//   interpolate       {x} -> y: linear upsampling by 2 along the axes of `factor`, like PyTorch's with
//                     align_corners=False. The first frame stays; later frames are interpolated
//   unfold_frames     {x, z} -> y: the first frame of x. Each later frame of z becomes two: the first half
//                     of its channels, then the second
//   gate              {x} -> y: the first half of the channels * silu(the second half)
//   modulate          {x, z} -> y: x * the first half of z's channels + the second half, then `activation`
//   depth_to_space    {x} -> y: channels become the pixels of a square, and frames (DepthOrder). Channels
//                     are repeated if there are too few
//   space_to_depth    {x} -> y: the pixels of a square, and frames, become channels (Fold). Then each output
//                     channel is the mean of neighbouring ones, if there are fewer
//   linear_attention  {x …, s} -> y: for each head, relu(q) times the sums with v, divided by relu(q) times
//                     the sums of k
//   activate          {x} -> y: `activation` of each value
#define HEADROOM_TILE_OPERATIONS(X) \
  X(conv)                           \
  X(upsample)                       \
  X(norm)                           \
  X(add)                            \
  X(attention)                      \
  X(rms_norm)                       \
  X(interpolate)                    \
  X(unfold_frames)                  \
  X(gate)                           \
  X(modulate)                       \
  X(depth_to_space)                 \
  X(space_to_depth)                 \
  X(linear_attention)               \
  X(activate)

// Operations whose results have no positions. All of their inputs are barriers.
//
//   statistics        {x} -> s: mean and deviation over each group of channels and all positions
//   key_value_sums    {x …} -> s: for each head, sums over all positions of relu(k) times each v, and of
//                     relu(k) alone
#define HEADROOM_STATISTICS(X) \
  X(statistics)                \
  X(key_value_sums)
#define HEADROOM_OPERATIONS(X) HEADROOM_TILE_OPERATIONS(X) HEADROOM_STATISTICS(X)

// Kinds of steps that no operation of a graph has. accumulate carries out an add. The others only move
// values.
//
//   gather            copy a region into a tile, padded outside the picture as Step::edges says
//   store             write the tile's own positions to a kept tensor
//   accumulate        add the tile's own positions onto a kept tensor and activate the sum, which becomes the
//                     result of `op`, an add
//   emit              write the tile's own positions to the output
#define HEADROOM_MOVES(X) \
  X(gather)               \
  X(store)                \
  X(accumulate)           \
  X(emit)

// Steps that every device has a function for. Device::emit() handles emit.
#define HEADROOM_DEVICE_STEPS(X) HEADROOM_OPERATIONS(X) X(gather) X(store) X(accumulate)

/// Kinds of the operations of a graph (Op) and of the steps of tile programs (Step in decoder/plan/plan.h). A
/// step has the kind of the operation that it carries out. The last kinds, HEADROOM_MOVES, are kinds of steps
/// alone: no Op has them, and all but accumulate carry out no operation.
enum class OpKind {
#define X(kind) kind,
  HEADROOM_OPERATIONS(X) HEADROOM_MOVES(X)
#undef X
};

inline constexpr std::array kAllKinds{
#define X(kind) OpKind::kind,
    HEADROOM_OPERATIONS(X) HEADROOM_MOVES(X)
#undef X
};

constexpr size_t index(OpKind kind) {
  return static_cast<size_t>(kind);
}
/// Name of a kind in files and messages; "?" for an invalid value.
const char* name_of(OpKind kind);
/// True for operations and steps that gather statistics or sums over the whole picture.
constexpr bool takes_statistics(OpKind kind) {
  return kind == OpKind::statistics || kind == OpKind::key_value_sums;
}
/// True for steps that make a tile. Other steps add the tile's own positions to a whole tensor, to statistics
/// or to the output.
constexpr bool makes_tile(OpKind kind) {
  return kind <= OpKind::gather && !takes_statistics(kind);
}

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
/// Also accepts torch's names float32, bfloat16 and float16. Throws InputError for any other text.
Dtype parse_dtype(const std::string& text, const std::string& option = "dtype");

/// A value that flows through the decoder or encoder, written N×C×T×H×W. Its rows and columns are the
/// latent's times `scale`. It has (latent frames - 1) * scale.t + 1 frames: the first frame is one frame at
/// every scale. Statistics have no positions. They are `channels` (mean, 1/deviation) pairs per batch item,
/// or `channels` sums.
struct Tensor {
  std::string name;
  int64_t channels = 0;
  Axes<int32_t> scale{1, 1, 1};
  bool statistics = false;
  OpId producer{-1};  ///< -1 for the input
  /// A pass may end here although no barrier requires it. Later operations may read this tensor and
  /// earlier cut points. They read no other tensor from before the cut point.
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
  to_unit,     ///< from -1 … 1 to 0 … 1: (v + 1) / 2
};
const char* name_of(Activation activation);

/// How a convolution over time pads before the first frame.
enum class BeforeFirst {
  zeros,
  first_frame,                   ///< the first frame, repeated
  zeros_instead_of_first_frame,  ///< zeros, and the kernel reads the first frame as zeros too
};

/// How a convolution pads its input above, below, left and right. BeforeFirst is the padding along the time.
enum class Edges {
  zeros,
  replicate,  ///< the nearest position of the picture
  reflect,  ///< the picture mirrored at its outermost positions without repeating them: -1 reads 1. A picture
            ///< of one position repeats it
};
const char* name_of(Edges edges);

/// Which frames attention mixes.
enum class AttentionFrames {
  each,         ///< every frame separately
  interleaved,  ///< cuts the C * T values of a position, ordered by channel, into T runs of C. Each run acts
                ///< as one frame
  up_to_own,    ///< causal: the queries of a frame attend to this frame and all earlier ones
  all,          ///< the queries of every frame attend to all frames
};
/// The frames that the queries of a frame of a clip attend to. Frames are attended to as a whole, so no key
/// needs a mask. For interleaved attention these are the runs that act as frames.
constexpr Interval attended_frames(AttentionFrames frames, int64_t frame, int64_t frames_of_clip) {
  if (frames == AttentionFrames::all) return {0, frames_of_clip};
  return {frames == AttentionFrames::up_to_own ? 0 : frame, frame + 1};
}

/// The frames of a clip that share statistics with `frame`: the first run has one frame more than the
/// `run_frames` of every later one. With 0, every frame is a run.
constexpr Interval frames_of_run(int64_t frame, int32_t run_frames, int64_t frames_of_clip) {
  if (run_frames == 0) return {frame, frame + 1};
  const int64_t run = frame == 0 ? 0 : (frame - 1) / run_frames;
  return {run == 0 ? 0 : run * run_frames + 1, std::min((run + 1) * run_frames + 1, frames_of_clip)};
}

/// The factor of the queries of attention with one head, 1/√channels.
double attention_scale(int64_t channels);

/// Channel order of a stored convolution whose outputs become squares of pixels. The last name varies
/// fastest.
enum class StoredOrder {
  channel_row_column,  ///< the order that depth_to_space reads
  channel_column_row,
  row_column_channel,
};

/// Order of the channels that depth_to_space turns into pixels.
enum class DepthOrder {
  channel_first,  ///< all frames and pixels of a channel are adjacent. The first latent frame yields only the
                  ///< last of these frames
  pixel_first,    ///< all channels of a pixel are adjacent, frame by frame. The first latent frame yields one
                  ///< frame: its channels are split evenly among this frame's pixels, and each pixel uses the
                  ///< first ones
  frame_within_pixel,  ///< all frames of a pixel are adjacent, and all channels of each of these frames. The
                       ///< first latent frame yields only the first of its frames
};

/// Order of the channels that space_to_depth makes. The last name varies fastest.
enum class FoldOrder {
  channel_frame_row_column,
  channel_column_row,  ///< of one frame
  frame_row_column_channel,
};

/// The frames that space_to_depth takes for frame 0, which has no frame before it.
enum class FoldFirst {
  zeros,  ///< zeros, then frame 0
  twice,  ///< frame 0 for each of the frames
  alone,  ///< frame 0 alone. The mean is over fewer channels
};

/// Properties of space_to_depth.
struct Fold {
  FoldOrder order = FoldOrder::channel_frame_row_column;
  /// Frames that become the channels of one output frame. Equal to the stride over the time, except in graphs
  /// of one frame (Graph::of_one_frame()): there the stride is 1, and `first` says what the other frames are.
  int32_t frames = 1;
  FoldFirst first = FoldFirst::zeros;
};

/// A module of the model, or one of the equal parts that its outputs are split into.
struct ModulePart {
  std::string module{};
  int32_t part = 0, parts = 1;
};

/// Two modules of 1×1 kernels, each with as many inputs as outputs, that one convolution replaces. Its kernel
/// is the product of theirs.
struct KernelProduct {
  ModulePart first{}, second{};  ///< in the order in which the model's own code runs them
  /// The second kernel is transposed, and the second module's bias has no effect (Graph::self_attention()).
  bool transposes_second = false;
  bool empty() const { return first.module.empty(); }
};

/// Frames in the channels of a convolution. Channel c of frame f is channel c * frames + f. So a graph of
/// pictures can hold the few frames that one latent becomes inside some decoders.
///
/// Each frame of the result reads the input's frames under the stored kernel, and zeros at both ends.
struct FramesInChannels {
  int32_t inputs = 1, outputs = 1;  ///< frames of the input and of the result
  int32_t made = 1;   ///< frames that each of the input's becomes. The model stores the outputs of the first
                      ///< one first, then in the order of row_column_channel
  int32_t first = 0;  ///< of the result's frames; those before it are not computed
  bool several() const { return inputs > 1 || outputs > 1; }
};

/// Properties of a convolution other than its kernel's extent.
struct ConvolutionTraits {
  bool bias = true;
  int32_t groups = 1;     ///< groups of channels, convolved separately
  bool shortcut = false;  ///< adds the input, its channels repeated to the number of outputs. When upsampling
                          ///< by f: repeated to f² times as many, then depth to space
  /// Channel order of a shortcut that does not upsample. True: the whole list repeats (0 1 0 1). False: each
  /// channel repeats (0 0 1 1).
  bool tiled_shortcut = false;
  Activation activation = Activation::none;  ///< of the result
  /// Modules whose weights and biases are concatenated along the outputs. Empty: the operation's own module.
  std::vector<std::string> stacked{};
  /// A batch norm with stored statistics, folded into kernel and bias. Empty: none.
  std::string batch_norm{};
  bool over_frames = false;  ///< the stored kernel has a time axis, possibly of length 1
  BeforeFirst before_first = BeforeFirst::zeros;
  /// Frames after its own that the kernel reads. Both ends of the clip are padded alike: beyond the end the
  /// last frame repeats if the first one repeats before the beginning, and zeros follow if zeros precede.
  int32_t frames_ahead = 0;
  /// With upsampling, this is the padding of the upsampled tensor.
  Edges edges = Edges::zeros;
  /// With a stride: the kernel begins at an output's first input, and padding is only below and to the right.
  bool begins_at_own = false;
  /// With a stride over the time: frame 0 is the input's, unchanged.
  bool keeps_first_frame = false;
  /// Frames of the stored kernel if the operation uses fewer (Graph::of_one_frame()), otherwise 0. All input
  /// before the first frame is known then. If it is zeros, only the taps of that frame remain. If it repeats
  /// the first frame, the taps are summed.
  int32_t stored_frames = 0;
  /// Frames at the end of the stored kernel that the operation does not use: they read zeros beyond the end.
  int32_t stored_ahead = 0;
  FramesInChannels frames{};
  /// The outputs become squares of pixels with this side. The model stores them in `stored_order`; the
  /// convolution computes them in the order of depth_to_space.
  int32_t stored_side = 1;
  StoredOrder stored_order = StoredOrder::channel_row_column;
  /// The model stores the inputs of a frame, then those of the frame before it. The kernel has two frames.
  bool stacks_past = false;
  /// Empty: the operation is a module of its own.
  KernelProduct product{};
  /// The model's own code multiplies matrices here (torch.nn.Linear). So TF32 of products holds, not that of
  /// convolutions.
  bool linear = false;
  /// Name of a stored scalar m: the result is sigmoid(m) * input + (1 - sigmoid(m)) * convolution. Empty:
  /// none.
  std::string mix_factor{};
  bool mixes_input = true;  ///< with a mix factor. False: the result is sigmoid(m) * convolution
  /// Every output becomes output * scale + shift. Excludes a shortcut.
  double scale = 1, shift = 0;
};

/// Modules of an attention with one head, in which nothing but 1×1 convolutions stands between the normed
/// tensor and the softmax.
///
/// Set its members one by one. If an allocation fails, GCC 12 destroys strings twice that it has placed in a
/// member of a braced initialiser.
struct AttentionModules {
  ModulePart q{}, k{}, v{};
  std::string out{};  ///< the output projection, which is also the name of its operation
  bool over_frames = false, linear = false;        ///< as in ConvolutionTraits
  AttentionFrames frames = AttentionFrames::each;  ///< not interleaved
};

/// Special values of Op::gamma_axes: an rms_norm with weight and bias, and one without parameters.
constexpr int32_t kWeightAndBias = -1, kNoParameters = -2;

/// One operation of a graph. What all operations of a kind have in common is in the kind's record, Operation
/// (decoder/operations/operation.h). Parameters are named as the model's own code names them: `<name>.weight`
/// and `<name>.bias`.
struct Op {
  std::string name;
  OpKind kind{};
  std::vector<TensorId> inputs{};
  TensorId output{-1};
  Axes<int32_t> kernel{1, 1, 1};  ///< conv: odd along rows and columns. Along the time the kernel ends at its
                                  ///< own frame, or ConvolutionTraits::frames_ahead frames later
  Axes<int32_t> factor{1, 1, 1};  ///< upsample, conv, depth_to_space, interpolate, unfold_frames
  /// conv, space_to_depth: input positions between two outputs. Output i covers the inputs [i * stride, (i +
  /// 1) * stride) and reads neighbours of these. Frame 0 covers frame 0, as at every scale.
  Axes<int32_t> stride{1, 1, 1};
  int32_t frames_in_depth = 1;                         ///< depth_to_space
  DepthOrder depth_order = DepthOrder::channel_first;  ///< depth_to_space
  Fold fold{};                                         ///< space_to_depth
  int32_t groups = 0;  ///< statistics, norm, conv; heads of key_value_sums and linear_attention
  double epsilon = 0;  ///< statistics, rms_norm, linear_attention, and of a convolution's batch norm
  Activation activation = Activation::none;
  ConvolutionTraits convolution{};  ///< conv
  bool by_frame = false;            ///< statistics: separately for each frame
  int32_t run_frames =
      0;  ///< statistics by frame: several frames share theirs, as frames_of_run() says; 0: none do
  int32_t frames_in_channels = 1;                  ///< norm: as FramesInChannels::inputs
  AttentionFrames frames = AttentionFrames::each;  ///< attention
  /// rms_norm: number of axes of extent 1 after the channels of its only parameter, `<name>.gamma`; or one of
  /// the constants above.
  int32_t gamma_axes = kWeightAndBias;
  bool centred = false;  ///< rms_norm: subtracts the mean first
};

/// A decoder or an encoder as operations over tensors: no weights, no sizes. Operations stand in topological
/// order.
class Graph {
 public:
  /// The input of a decoder. Called once, first.
  TensorId add_latent(int64_t channels);
  /// The input of an encoder, whose latent has 1 / `scale` of the rows and columns. Called once, first.
  TensorId add_picture(int64_t channels, Axes<int32_t> scale);
  TensorId conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel,
                const ConvolutionTraits& traits = {});
  /// A convolution that makes every `stride`-th output of conv().
  TensorId strided_conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel,
                        Axes<int32_t> stride, const ConvolutionTraits& traits = {});
  /// A 3×3 convolution of x upsampled by 2 along rows and columns. Computes four phases with 2×2 kernels on x
  /// itself. The kernel spans `frames` frames, and the time is not upsampled.
  TensorId upsampled_conv(const std::string& name, TensorId x, int64_t channels,
                          const ConvolutionTraits& traits = {}, int32_t frames = 1);
  /// Each frame after the first becomes two.
  TensorId repeat_frames(const std::string& name, TensorId x);
  TensorId upsample(const std::string& name, TensorId x, Axes<int32_t> factor);
  TensorId statistics(const std::string& name, TensorId x, int32_t groups, double epsilon,
                      bool by_frame = false);
  /// Statistics over runs of frames: frame 0 and the `run_frames` after it, then as many for each run.
  TensorId statistics_of_runs(const std::string& name, TensorId x, int32_t groups, double epsilon,
                              int32_t run_frames);
  TensorId norm(const std::string& name, TensorId x, TensorId statistics, Activation activation,
                int32_t frames_in_channels = 1);
  TensorId add(const std::string& name, TensorId a, TensorId b, Activation activation = Activation::none);
  TensorId attention(const std::string& name, TensorId q, TensorId k, TensorId v,
                     AttentionFrames frames = AttentionFrames::each);
  /// One head between positions of x, with its four projections. The keys and the values are x itself,
  /// because the rows of softmax sum to 1 and a number that is added to all scores of a query has no effect:
  ///
  ///     q kᵀ  = (x Wq + bq)(x Wk + bk)ᵀ      = (x Wq Wkᵀ + bq Wkᵀ) xᵀ + a number for each query
  ///     y     = softmax (x Wv + bv) Wo + bo  = (softmax x)(Wv Wo) + (bv Wo + bo)
  ///
  /// Weights are multiplied in double (decoder/weights/folded_convolution.h).
  TensorId self_attention(const std::string& name, TensorId x, const AttentionModules& modules);
  /// `gamma_axes` as in Op.
  TensorId rms_norm(const std::string& name, TensorId x, double epsilon, Activation activation,
                    int32_t gamma_axes = kWeightAndBias);
  /// rms_norm() of x minus the mean over the channels of each position, with weight and bias.
  TensorId layer_norm(const std::string& name, TensorId x, double epsilon, Activation activation);
  TensorId interpolate(const std::string& name, TensorId x, Axes<int32_t> factor);
  /// `rest` has twice as many channels as `x`.
  TensorId unfold_frames(const std::string& name, TensorId x, TensorId rest);
  TensorId gate(const std::string& name, TensorId x);
  /// `scale_and_shift` has twice as many channels as `x`.
  TensorId modulate(const std::string& name, TensorId x, TensorId scale_and_shift, Activation activation);
  TensorId depth_to_space(const std::string& name, TensorId x, Axes<int32_t> factor);
  /// depth_to_space() that makes frames too. Of the first frame's `factor.t` frames only the last is used.
  TensorId depth_to_frames(const std::string& name, TensorId x, Axes<int32_t> factor);
  /// depth_to_space() that turns each position of `x` into `frames_in_depth` frames of pixels with `channels`
  /// channels. Repeats each channel of `x` until there are enough. The first frame yields only one frame
  /// (DepthOrder). With `factor.t` of 1, every frame yields only one.
  TensorId repeated_depth_to_space(const std::string& name, TensorId x, int64_t channels,
                                   Axes<int32_t> factor, int32_t frames_in_depth,
                                   DepthOrder order = DepthOrder::channel_first);
  /// Squares of `stride` rows and columns, and frames, become channels, and then the mean of neighbouring
  /// ones becomes one of `channels`.
  TensorId space_to_depth(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> stride,
                          const Fold& fold = {});
  /// Heads follow one another across `inputs`. Each head has `head_channels` channels of q, k and v each.
  TensorId key_value_sums(const std::string& name, const std::vector<TensorId>& inputs,
                          int64_t head_channels);
  /// `inputs` are the same as in key_value_sums(). `epsilon` avoids division by zero.
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

  TensorId input() const { return TensorId{0}; }
  /// The picture or clip: the output of a decoder, the input of an encoder.
  TensorId picture() const { return encodes() ? input() : output_; }
  bool encodes() const { return encodes_; }
  TensorId output() const { return output_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Op>& ops() const { return ops_; }
  const Tensor& tensor(TensorId id) const { return tensors_[index(id)]; }
  const Op& op(OpId id) const { return ops_[index(id)]; }
  /// Null for the input.
  const Op* producer(TensorId id) const;
  /// Operations that read the tensor.
  const std::vector<OpId>& readers(TensorId id) const { return readers_[index(id)]; }
  /// Returns -1 if no tensor has this name.
  TensorId find_tensor(const std::string& name) const;
  /// Returns -1 if no operation has this name.
  OpId find_op(const std::string& name) const;
  /// This graph, simplified for one frame (single_frame.cpp).
  Graph of_one_frame() const;

 private:
  TensorId add_input(const std::string& name, int64_t channels, Axes<int32_t> scale);
  TensorId append(Op op, int64_t channels, Axes<int32_t> scale, bool statistics = false);
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<std::vector<OpId>> readers_;
  TensorId output_{-1};
  bool encodes_ = false;
};

}  // namespace headroom
