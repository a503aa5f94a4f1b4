#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headroom {

enum class OpKind {
  conv,  ///< {x} -> y: stride-1 convolution, padded to keep the extent. With `factor`, it reads x upsampled
         ///< (nearest) but never stores the upsampled tensor
  upsample,     ///< {x} -> y: nearest, by `factor`
  statistics,   ///< {x} -> s: mean and deviation over each group of channels and all positions; a barrier
  norm,         ///< {x, s} -> y: (x - mean) / deviation * weight + bias, then `activation`
  add,          ///< {a, b} -> y: a + b, then `activation`
  attention,    ///< {q, k, v} -> y: one head. Queries attend to all positions of one frame of k and v, or of
                ///< several frames (AttentionFrames). A barrier on k and v
  rms_norm,     ///< {x} -> y: x / root mean square over the channels of its position * weight + bias, then
                ///< `activation`. If centred, subtracts the mean first (layer norm)
  interpolate,  ///< {x} -> y: linear upsampling by 2 along the axes of `factor`, like PyTorch's with
                ///< align_corners=False. Along the time the first frame stays as it is, and only the later
                ///< ones are interpolated
  unfold_frames,  ///< {x, z} -> y: the first frame of x. Each later frame of z becomes two: the first half of
                  ///< its channels, then the second
  gate,           ///< {x} -> y: the first half of the channels * silu(the second half)
  depth_to_space,  ///< {x} -> y: channels c * factor² … become the factor × factor pixels of channel c.
                   ///< Channels can also hold several frames (DepthOrder), and are repeated if there are too
                   ///< few
  key_value_sums,  ///< {x …} -> s: for each head, sums over all positions of relu(k) times each v, and of
                   ///< relu(k) alone; a barrier
  linear_attention,  ///< {x …, s} -> y: for each head, relu(q) times the sums with v, divided by relu(q)
                     ///< times the sums of k
  activate,          ///< {x} -> y: `activation` of each value
};

/// The steps of tile programs (decoder/plan/plan.h). Most carry out an operation and are named after it. A
/// "filled" tile is padded outside the picture as Step::edges says.
enum class StepKind {
  gather,            ///< copy a region into a tile, filled
  norm,              ///< normalise and activate a region into a tile, filled
  upsample,          ///< repeat a region into a tile, filled
  conv,              ///< convolve a filled tile that includes its halo, into another filled tile
  add,               ///< sum of two regions, activated
  attention,         ///< a tile of queries against all keys and values
  interpolate,       ///< linear upsampling of a region
  unfold_frames,     ///< channels to frames, in a region
  rms_norm,          ///< normalise each position of a region by itself into a tile, filled
  gate,              ///< multiply one half of the channels by silu of the other
  depth_to_space,    ///< channels to pixels
  linear_attention,  ///< multiply a region's queries by the sums over all keys and values
  activate,          ///< activate a region into a tile, filled
  statistics,        ///< merge the tile's own positions into the statistics
  key_value_sums,    ///< add the tile's own positions to the sums of keys and values
  store,             ///< write the tile's own positions to a kept tensor
  accumulate,  ///< add the tile's own positions onto a kept tensor and activate the sum, which becomes `op`'s
               ///< output
  emit,        ///< pass the tile's own positions to the output
};

constexpr size_t kStepKinds = static_cast<size_t>(StepKind::emit) + 1;
inline constexpr std::array<StepKind, kStepKinds> kAllSteps = [] {
  std::array<StepKind, kStepKinds> kinds{};
  for (size_t i = 0; i < kStepKinds; ++i) kinds[i] = static_cast<StepKind>(i);
  return kinds;
}();

/// Inputs that must be complete before an operation can compute any output.
enum class BarrierInputs { none, all, all_but_first, last };

/// Properties that all operations of one kind share. To add an operation, extend this table, OpKind,
/// StepKind and the code that computes it (HACKING.md).
struct OperationTraits {
  OpKind kind{};
  const char* name = "";  ///< in files and messages
  StepKind step{};        ///< the step that carries it out
  BarrierInputs barrier = BarrierInputs::none;
  /// Its result has no positions: statistics or sums over all of them.
  bool makes_statistics = false;
  /// Each position of the result depends only on that position of the inputs. Convolutions of 1 × 1 have this
  /// property too, although their kind does not.
  bool pointwise = false;
  /// The result is never kept: it is recomputed position by position from an input that is no larger.
  bool cheap = false;
  /// Its step requires a tile of the first input that covers exactly the needed region.
  bool reads_exact_tile = false;
  /// Its step can make a tile with padding outside the picture.
  bool pads = false;
  /// Its results are rounded to the plan's dtype when they are computed, so they may be kept. Other
  /// operations only copy input values, or every reader recomputes them.
  bool rounds = false;
  /// Its parameters are a scale and a bias for each channel.
  bool has_scale_and_bias = false;
};
const OperationTraits& traits_of(OpKind kind);

const char* name_of(OpKind kind);
/// Returns "?" for an invalid value.
const char* name_of(StepKind kind);
/// True for steps that make a tile. Other steps add the tile's own positions to a whole tensor, to statistics
/// or to the output.
bool makes_tile(StepKind kind);
/// True for steps that gather statistics or sums for a barrier.
bool takes_statistics(StepKind kind);
/// Steps whose results are rounded to the plan's dtype (OperationTraits::rounds).
bool rounds(StepKind kind);

}  // namespace headroom
