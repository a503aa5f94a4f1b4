#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "decoder/base/moments.h"
#include "decoder/base/pixel_format.h"
#include "decoder/graph/graph.h"

// Calls to a GPU: plain structs that are passed to kernels by value. Every call works on one batch item.
// Addresses point into GPU memory or pinned host memory. Arithmetic is fp32; long sums for statistics are
// double. A value is rounded once, when it is stored.
namespace headroom::gpu {

/// Most blocks of one item in a view. Views are kernel arguments, whose size CUDA limits.
constexpr int32_t kMostBlocks = 256;
/// Offsets of blocks from a view's base are multiples of this, in bytes.
constexpr int64_t kBlockUnit = 256;
/// Value in View::block_units for a block that is not in the GPU's memory.
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
  uint32_t block_units[kMostBlocks] = {};  ///< block offsets from the base, in units of kBlockUnit
};

/// Copies `source` to all of `target`, zero outside the picture.
struct Gather {
  View source, target;
  Size picture;
};
/// Copies a region that lies in both views.
struct Copy {
  View source, target;
  Box region;
};
/// target = activation(target + source), in a region.
struct Add {
  View source, target;
  Activation activation = Activation::none;
  Box region;
};
/// x * scale + shift, then the activation, into all of `target`; zero outside the picture.
struct Normalise {
  View source, target;
  const float* scale = nullptr;  ///< [channels], or [frames][channels] if `by_frame`
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
  bool centred = false;  ///< subtracts the mean of each position first
};
/// Nearest upsampling of rows and columns into all of `target`; zero outside the picture. `picture` is the
/// target's size.
struct Upsample {
  View source, target;
  int32_t factor_y = 1, factor_x = 1;
  Size picture;
};
/// Maps channel c of pixel p to a source channel, by the formula of DepthFrame
/// (decoder/operations/depth_to_space.h).
struct DepthLayout {
  int32_t begin = 0, pixel_step = 1, channel_step = 1, repeats = 1;
  friend bool operator==(const DepthLayout&, const DepthLayout&) = default;
};
/// Turns channels of the source into pixels of the target. A source pixel becomes factor_y * factor_x pixels.
/// Every source frame but the first becomes factor_t frames. `later` is the layout of the earliest of them,
/// and `begin` grows by frame_step from each to the next. If factor_t is 1, all frames use `first`.
struct DepthToSpace {
  View source, target;
  int32_t factor_t = 1, factor_y = 1, factor_x = 1;
  DepthLayout first, later;
  int32_t frame_step = 0;
  Box region;  ///< of the target
};
/// Order of a square's pixels among channels, like FoldLayout (decoder/operations/depth_to_space.h).
struct FoldSteps {
  int32_t frames = 1, zeros = 0;
  int32_t channel_step = 1, frame_step = 1, row_step = 1, column_step = 1;
  int32_t group = 1;
};
/// Turns squares of stride_y * stride_x pixels, and frames, of the source into channels of the target. Each
/// target channel is the mean of `group` neighbouring ones. Frame 0 takes its frames from frame 0 by the
/// layout `first`. The other frames take `stride_t` frames each by the layout `later`. If stride_t is 1,
/// every frame takes its own by `first`.
struct SpaceToDepth {
  View source, target;
  int32_t stride_t = 1, stride_y = 1, stride_x = 1;
  FoldSteps first, later;
  Box region;  ///< of the target
};
/// target = a * silu(b): a is the first half of the source's channels, b the second.
struct Gate {
  View source, target;
  Box region;
};
/// target = activation(source * a + b): a is the first half of the channels of `factors`, b the second.
struct Modulate {
  View source, factors, target;
  Activation activation = Activation::none;
  Box region;
};
/// Linear upsampling (decoder/cpu/frames.cpp).
struct Interpolate {
  View source, target;
  int32_t factor_t = 1, factor_y = 1, factor_x = 1;  ///< 1 or 2
  Size source_extent;
  Box region;  ///< of the target
};
/// Copies the first frame of `first`. Each later frame of `rest` then becomes two frames: the first half of
/// its channels, and the second half.
struct UnfoldFrames {
  View first, rest, target;
  Box region;  ///< of the target
};
/// Applies an activation to a region in place.
struct Activate {
  View tile;
  Activation activation = Activation::none;
  Box region;
};
/// Fills the part of a tile outside the picture: with zeros, or with copies of positions inside (Edges). The
/// tile must hold the copied positions.
struct FillOutside {
  View tile;
  Edges edges = Edges::zeros;
  Size picture;
};

/// Merges a region into the moments of each group of channels, and of each frame if `by_frame`. Every thread
/// block computes the moments of one segment of a frame into `partial`. The last blocks to finish merge these
/// in the order of the segments (Chan, Golub, LeVeque 1983, eq. 2.1). So the result does not depend on how
/// the GPU schedules blocks. The counters that find the last blocks are zero before and after a call.
struct AddMoments {
  View source;
  Box region;
  int32_t groups = 1;
  bool by_frame = false;
  Moments* partial = nullptr;    ///< [partial_moments()]
  uint32_t* counters = nullptr;  ///< [moment_counters()], zero
  Moments* state = nullptr;      ///< [groups], or [frames of the picture][groups]
};
/// Number of segments that AddMoments cuts a frame into, and number of partial moments in all.
int64_t moment_segments(int64_t rows, int64_t columns, int64_t channels);
int64_t partial_moments(const Box& region, int64_t channels, int64_t groups);
int64_t moment_counters(const Box& region, int64_t channels, int64_t groups, bool by_frame);

/// Scale and shift of each channel of each set so that x * scale + shift = (x - mean) / sqrt(m2 / count +
/// epsilon) * weight + bias. Sets that are frames of one run (frames_of_run()) use its merged moments.
struct Affine {
  const Moments* state = nullptr;  ///< [sets][groups]
  int32_t sets = 1, groups = 1, channels = 0;
  int32_t run_frames = 0;
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
/// Computes relu(q) · S / (relu(q) · z + epsilon) for each head. S is the head's relu(k) vᵀ sum and z its
/// relu(k) sum. The results of the heads in `chunk` go to the target's channels from `first_channel` on.
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
  int32_t frames = 1, rows = 1, columns = 1;  ///< of the original kernel: 3 × 3 if `upsamples`
  bool upsamples = false;
  BeforeFirst before_first = BeforeFirst::zeros;
  int32_t frames_ahead = 0;  ///< kernel frames that read input after the output's frame
  Axes<int32_t> stride{1, 1, 1};
  bool begins_at_own = false;  ///< ConvolutionTraits::begins_at_own

  bool strided() const { return stride != Axes<int32_t>{1, 1, 1}; }
};
/// Writes `region` of the target: convolution, plus residual if present, plus bias, rounded once. The
/// residual may be the target itself. The input must hold the region's halo, including positions outside the
/// picture, and all input frames that a temporal kernel reads. frame_of_tap() (decoder/cpu/convolution.h)
/// defines these frames and the padding before the first and after the last.
struct Convolve {
  View input;
  View residual;  ///< has the target's channels and dtype; 0 channels: no residual
  View target;
  Box region;  ///< of the target
  ConvolutionShape shape;
  const void* kernel = nullptr;
  const void* bias = nullptr;  ///< one for each output, in the dtype of the tiles
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  ///< upper bound; less may be used
  bool tf32 = false;            ///< fp32 inputs may be rounded to TF32

  bool adds() const { return residual.channels != 0; }
};
/// Interleaves the four phases of an upsampling convolution into a region of the target. `phases` is
/// [4][frames][rows][columns][channels]; frames, rows and columns are the source positions in `coarse`.
struct Interleave {
  const void* phases = nullptr;
  Box coarse;
  View target;
  Box region;
};

/// Attention computes softmax with base 2: exp(x) = 2^(x * kLog2OfE).
constexpr float kLog2OfE = 1.4426950408889634f;
/// Running sums of attention for the queries of one frame, numbered row by row. Needed only if the keys come
/// in several calls.
struct AttentionState {
  float* sums = nullptr;     ///< [queries][channels of the values]: weighted values
  float* largest = nullptr;  ///< [queries]: the largest score, in units of log 2; weights are relative to it
  float* weights = nullptr;  ///< [queries]: their sums
};
/// softmax(q kᵀ) v for all queries of one frame, against all keys and values in `key_frames`.
/// `interleaved` changes how values are addressed in queries, keys, values and target; value_at()
/// (decoder/gpu/kernels/attention.h) has the formula. Keys may come in several calls: all calls but the first
/// continue from the state, and only the last writes the target.
struct Attend {
  View queries, keys, values, target;
  // Frame numbers use the coordinates of the views' regions.
  int32_t query_frame = 0, target_frame = 0;
  Span key_frames{0, 1};
  bool interleaved = false;
  AttentionState state{};  ///< null if this call has all keys
  bool first = true, last = true;
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
  bool tf32 = false;  ///< fp32 inputs may be rounded to TF32
};

/// Writes a region of a picture to pinned host memory, as contiguous pixels in row-major order, frame by
/// frame. Each value is `source` + `shift`, computed in fp32 and converted to `format`.
struct Emit {
  View source;
  Box region;
  PixelFormat format = PixelFormat::fp32;
  float shift = 0;
  std::byte* pixels = nullptr;     ///< aligned to 16 bytes
  uint32_t* not_finite = nullptr;  ///< set to 1 if any value is not finite, otherwise unchanged
};
/// Values of one item as planes in the GPU's memory. Strides are in elements and not negative.
struct Planes {
  std::byte* first = nullptr;  ///< channel 0 at position (0, 0, 0)
  Dtype dtype = Dtype::fp32;
  int64_t channel = 0, frame = 0, row = 0, column = 1;  ///< strides
};
/// Writes a region of a picture to planes. Each value is `source` + `shift`, computed in fp32 and rounded
/// once to the planes' dtype.
struct EmitPlanes {
  View source;
  Box region;
  float shift = 0;
  Planes target;
  uint32_t* not_finite = nullptr;  ///< as in Emit; `source` + `shift` counts
};
/// Reads all of `target` from planes.
struct LoadPlanes {
  Planes source;
  View target;
  uint32_t* not_finite = nullptr;  ///< as in Emit
};
/// Checks accumulated statistics for values that are not finite.
struct CheckFinite {
  const double* values = nullptr;
  int64_t count = 0;
  uint32_t* not_finite = nullptr;  ///< as in Emit
};

/// Checksums (decoder/base/checksum.h) of memory ranges, one for each block of kBlockBytes. The checksums of
/// a range's blocks add up to the checksum of the range.
struct Checksum {
  static constexpr int32_t kMostStretches = 128;
  static constexpr int64_t kBlockBytes = int64_t{64} << 10;
  int32_t stretches = 0;
  const std::byte* at[kMostStretches] = {};
  int64_t bytes[kMostStretches] = {};
  int32_t first_block[kMostStretches + 1] = {};  ///< by range; then the number of blocks
  uint64_t* sums = nullptr;                      ///< [blocks], in pinned host memory
};

/// Packs parameters from a model's own tensors in the GPU's memory. Each list becomes contiguous values in
/// the order [output][frame][row][column][input]. A kernel over nearest upsampling becomes those of its four
/// phases, [phase][output][frame][2][2][input], by the sums of sum_phases() (decoder/weights). The product of
/// two kernels is summed as MultipliedKernels (decoder/weights) sums it.
struct Pack {
  static constexpr int32_t kMostLists = 20;
  static constexpr int64_t kBlockValues = 2048;  ///< of a list that one thread block packs
  struct List {
    const std::byte* from = nullptr;  ///< null: every value is `constant`
    std::byte* to = nullptr;
    Dtype from_dtype = Dtype::fp32, to_dtype = Dtype::fp32;
    float constant = 0;
    int32_t outputs = 1, frames = 1, rows = 1, columns = 1, inputs = 1;  ///< of the source; 3 × 3 for phases
    bool phases = false;
    /// Not null: each value is `scale` times addend(output) + the sum over m of by(output, m) * from(m,
    /// input), and `output` is the stride of m.
    const std::byte* by = nullptr;
    const std::byte* addend = nullptr;  ///< null: 0
    Dtype by_dtype = Dtype::fp32, addend_dtype = Dtype::fp32;
    int32_t summed = 0;          ///< number of m
    bool checks_addend = false;  ///< the addend has no effect, but must be finite
    int64_t by_output = 0, by_summed = 0, addend_output = 0;  ///< strides
    double scale = 1;
    int64_t output = 0, frame = 0, row = 0, column = 0, input = 0;  ///< strides of the source, in elements

    int64_t values() const {
      return int64_t{outputs} * frames * inputs * (phases ? 16 : int64_t{rows} * columns);
    }
  };
  int32_t lists = 0;
  List list[kMostLists] = {};
  int32_t first_block[kMostLists + 1] = {};  ///< by list; then the number of blocks
  uint32_t* not_finite = nullptr;            ///< as in Emit
};

// The list of calls.
#define HEADROOM_GPU_CALLS(X)                                                                            \
  X(Gather), X(Copy), X(Add), X(Normalise), X(RmsNorm), X(Upsample), X(DepthToSpace), X(SpaceToDepth),   \
      X(Gate), X(Modulate), X(Interpolate), X(UnfoldFrames), X(Activate), X(FillOutside), X(AddMoments), \
      X(Affine), X(AddKeyValueSums), X(LinearAttention), X(Convolve), X(Interleave), X(Attend), X(Emit), \
      X(EmitPlanes), X(LoadPlanes), X(CheckFinite), X(Checksum), X(Pack)

#define X(Type) Type
using Call = std::variant<HEADROOM_GPU_CALLS(X)>;
#undef X

}  // namespace headroom::gpu
