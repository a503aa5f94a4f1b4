#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "decoder/graph/graph.h"
#include "decoder/graph/moments.h"
#include "decoder/graph/pixel_format.h"

// Calls to a GPU: plain values that go to kernels as they are. Every call works on one batch item. Addresses
// are the GPU's own, or those of pinned host memory. Arithmetic is fp32, sums that decide statistics are
// double; a value is rounded once, when it is stored.
namespace headroom::gpu {

/// Blocks of one item that a view can have: views go to kernels as arguments.
constexpr int32_t kMostBlocks = 256;
/// Blocks begin at multiples of this, seen from a view's base.
constexpr int64_t kBlockUnit = 256;
/// In place of a block that is not in the GPU's memory.
constexpr uint32_t kAbsent = 0xffffffff;

struct Span {
  int32_t begin = 0, end = 0;
};
struct Box {
  Span t, y, x;
};
struct Size {
  int32_t t = 1, y = 0, x = 0;
};

/// Layout of a region of one item in memory, as in MapView (decoder/interpreter/map_view.h). Rows of pixels,
/// channels last, form blocks of equal height. Each block has all frames of its rows, frame by frame.
struct View {
  std::byte* base = nullptr;
  Box region;  ///< positions present
  int32_t channels = 0;
  int32_t block_rows = 1;
  int32_t blocks = 1;
  Dtype dtype = Dtype::fp32;
  uint32_t block_units[kMostBlocks] = {};  ///< where blocks begin, in kBlockUnit from the base
};

/// Copies `source` to all of `target`, zero outside the picture.
struct Gather {
  View source, target;
  Size picture;
};
/// Copies a region that both hold.
struct Copy {
  View source, target;
  Box region;
};
/// Adds a region of `source` onto `target`; of the sums the activation.
struct Add {
  View source, target;
  Activation activation = Activation::none;
  Box region;
};
/// x * scale + shift, then the activation, into all of `target`; zero outside the picture.
struct Normalise {
  View source, target;
  const float* scale = nullptr;  ///< one for each channel; of frame t from t * channels on where `by_frame`
  const float* shift = nullptr;
  bool by_frame = false;
  Activation activation = Activation::none;
  Size picture;
};
/// x / root(mean square over the channels of its position + epsilon) * weight + bias, then the activation, in
/// a region.
struct RmsNorm {
  View source, target;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
  Activation activation = Activation::none;
  Box region;
  bool centred = false;  ///< of values less the mean of their position
};
/// Nearest upsampling of rows and columns into all of `target`; zero outside the picture, which is the
/// target's.
struct Upsample {
  View source, target;
  int32_t factor_y = 1, factor_x = 1;
  Size picture;
};
/// Maps channel c of pixel p to a source channel, by the formula of DepthFrame (decoder/graph/geometry.h).
/// After the first frame, `first_pixel` is that of the earliest target frame that a source frame makes.
struct DepthLayout {
  int32_t first_pixel = 0, pixel_step = 1, channel_step = 1, repeats = 1;
  friend bool operator==(const DepthLayout&, const DepthLayout&) = default;
};
/// Channels of the source become pixels of the target, factor_y * factor_x and, but for the first frame,
/// factor_t frames of them. Where factor_t is 1 all frames are as the first.
struct DepthToSpace {
  View source, target;
  int32_t factor_t = 1, factor_y = 1, factor_x = 1;
  DepthLayout first, later;
  Box region;  ///< of the target
};
/// The first half of the source's channels * silu(the second half).
struct Gate {
  View source, target;
  Box region;
};
/// Linear interpolation (decoder/cpu/frames.h).
struct Interpolate {
  View source, target;
  int32_t factor_t = 1, factor_y = 1, factor_x = 1;  ///< 1 or 2
  Size source_extent;
  Box region;  ///< of the target
};
/// The first frame of `first`, then two frames for each later one of `rest`: the first half of its channels,
/// and the second.
struct UnfoldFrames {
  View first, rest, target;
  Box region;  ///< of the target
};
/// The activation of a region, in place.
struct Activate {
  View tile;
  Activation activation = Activation::none;
  Box region;
};
/// Zeros where the tile lies outside the picture, or copies of its positions inside, which must be there.
struct FillOutside {
  View tile;
  Edges edges = Edges::zeros;
  Size picture;
};

/// Merges a region into the moments of each group of channels, of each frame by itself where `by_frame`. Two
/// levels: every block of threads makes moments of its own segment of rows of one frame, in `partial`; these
/// are merged in the order of the segments (Chan, Golub, LeVeque 1983, eq. 2.1), so the result does not
/// depend on how blocks were scheduled.
struct AddMoments {
  View source;
  Box region;
  int32_t groups = 1;
  bool by_frame = false;
  Moments* partial = nullptr;  ///< partial_moments() of them
  Moments* state = nullptr;    ///< [groups], or [frames of the picture][groups]
};
/// Segments of a frame's rows in AddMoments, and partial moments in all.
int64_t moment_segments(int64_t rows, int64_t columns, int64_t channels);
int64_t partial_moments(const Box& region, int64_t channels, int64_t groups);

/// Scale and shift of each channel of each set so that x * scale + shift = (x - mean) / sqrt(m2 / count +
/// epsilon) * weight + bias.
struct Affine {
  const Moments* state = nullptr;  ///< [sets][groups]
  int32_t sets = 1, groups = 1, channels = 0;
  double epsilon = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* scale = nullptr;  ///< [sets][channels]
  float* shift = nullptr;
};

/// Adds to the sums of linear attention. Heads lie one after another in `chunk`, each with q, k and v of
/// `channels` values. Row i of a head's sums is relu(k_i) times each of v, then relu(k_i) alone. There are
/// two levels as in AddMoments: `partial` has key_value_partials() times heads × channels × (channels + 1)
/// values.
struct AddKeyValueSums {
  View chunk;
  Box region;
  int32_t heads = 1, channels = 0;
  float* partial = nullptr;
  double* sums = nullptr;  ///< [heads][channels][channels + 1]
};
int64_t key_value_partials(const Box& region);
/// relu(q) by the sums, divided by relu(q) by those of relu(k) alone plus epsilon. The results of the heads
/// in `chunk` go to the target's channels from `first_channel` on.
struct LinearAttention {
  View chunk, target;
  Box region;
  int32_t heads = 1, channels = 0, first_channel = 0;
  const double* sums = nullptr;
  float epsilon = 0;
};

/// Shape of a convolution. The GPU stores its kernel as [outputs][frames][rows][columns][inputs / groups], in
/// the dtype of the tiles. A convolution over nearest 2× upsampling has four such kernels of 2×2 taps, one
/// for each phase (even rows and columns, even rows and odd columns, …).
struct ConvolutionShape {
  int32_t inputs = 0, outputs = 0, groups = 1;
  int32_t frames = 1, rows = 1, columns = 1;  ///< of the original kernel: 3 × 3 where `upsamples`
  bool upsamples = false;
  BeforeFirst before_first = BeforeFirst::zeros;
  int32_t frames_ahead = 0;  ///< of the kernel's frames, those after the output's own
};
/// Convolves: writes `region` of the target: sums, then the residual where there is one, then the bias,
/// rounded once. The residual may be the target itself. The input holds what that needs, outside the
/// picture as well, and the frames of the clip that a kernel over the time reads; which of them it reads, and
/// what stands before the first and after the last, is frame_of_tap() (decoder/cpu/convolution.h).
struct Convolve {
  View input;
  View residual;  ///< of the target's channels and dtype; without channels where nothing is added
  View target;
  Box region;  ///< of the target
  ConvolutionShape shape;
  const void* kernel = nullptr;
  const void* bias = nullptr;  ///< one for each output, in the dtype of the tiles
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  ///< may be used up to here

  bool adds() const { return residual.channels != 0; }
};
/// Puts the four phases of a convolution over upsampling, each [rows][columns][channels] of the coarse
/// positions in `coarse`, phase after phase, into a region of the target.
struct Interleave {
  const void* phases = nullptr;
  Box coarse;
  View target;
  Box region;
};

/// Weights of attention are powers of 2.
constexpr float kLog2OfE = 1.4426950408889634f;
/// Running sums of attention for the queries of one frame, counted row by row. Used if their keys come in
/// several calls.
struct AttentionState {
  float* sums = nullptr;     ///< [queries][channels of the values]: weighted values
  float* largest = nullptr;  ///< [queries]: the largest score, in units of log 2; weights are relative to it
  float* weights = nullptr;  ///< [queries]: their sums
};
/// softmax(q kᵀ * scale) v of one frame: all positions of `queries` in that frame, against all positions of
/// keys and values in `key_frames`, frame by frame. Where frames are interleaved, which are then one, value c
/// * T + t of a position counts as channel of the frame it would have were the C * T values cut into T runs
/// of C, in queries, keys, values and target. Where keys come in several calls, all but the first go on from
/// the state, and the last one alone writes the target.
struct Attend {
  View queries, keys, values, target;
  // Frames as the views' regions count them.
  int32_t query_frame = 0, target_frame = 0;
  Span key_frames{0, 1};
  bool interleaved = false;
  float scale = 1;
  AttentionState state{};  ///< null where this call has all keys
  bool first = true, last = true;
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

/// Writes a region of a picture as pixels that follow one another, row by row and frame by frame, to pinned
/// host memory. Each value is `source` + `shift`, in fp32.
struct Emit {
  View source;
  Box region;
  PixelFormat format = PixelFormat::fp32;
  float shift = 0;
  std::byte* pixels = nullptr;     ///< aligned to 16 bytes
  uint32_t* not_finite = nullptr;  ///< becomes 1 where a value is not finite, and else stays as it is
};
/// Looks through what stands for statistics.
struct CheckFinite {
  const double* values = nullptr;
  int64_t count = 0;
  uint32_t* not_finite = nullptr;  ///< as in Emit
};

/// Checksums (decoder/graph/checksum.h) of stretches of memory, one for each block of kBlockBytes; those of a
/// stretch add up to its own.
struct Checksum {
  static constexpr int32_t kMostStretches = 128;
  static constexpr int64_t kBlockBytes = int64_t{64} << 10;
  int32_t stretches = 0;
  const std::byte* at[kMostStretches] = {};
  int64_t bytes[kMostStretches] = {};
  int32_t first_block[kMostStretches + 1] = {};  ///< of each stretch; then the number of all
  uint64_t* sums = nullptr;                      ///< [blocks], in pinned host memory
};

using Call = std::variant<Gather, Copy, Add, Normalise, RmsNorm, Upsample, DepthToSpace, Gate, Interpolate,
                          UnfoldFrames, Activate, FillOutside, AddMoments, Affine, AddKeyValueSums,
                          LinearAttention, Convolve, Interleave, Attend, Emit, CheckFinite, Checksum>;

}  // namespace headroom::gpu
