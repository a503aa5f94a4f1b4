#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headroom {

enum class OpKind {
  conv,      ///< {x} -> y: convolution, stride 1, padding that keeps the extent; of x repeated `factor` times
             ///< along each axis (nearest upsampling), which is never made whole
  upsample,  ///< {x} -> y: nearest, by `factor`
  statistics,     ///< {x} -> s: mean and deviation over each group of channels and all positions; a barrier
  norm,           ///< {x, s} -> y: (x - mean) / deviation * weight + bias, then `activation`
  add,            ///< {a, b} -> y: a + b, then `activation`
  attention,      ///< {q, k, v} -> y: one head over all positions of a frame of k and v, or of several
                  ///< (AttentionFrames); a barrier on both
  rms_norm,       ///< {x} -> y: x / root mean square over the channels of its position * weight + bias, then
                  ///< `activation`; of x less its mean where it is centred (layer norm)
  interpolate,    ///< {x} -> y: linear, by 2 along the axes of `factor`, between the middles of positions and
                  ///< no further than the outermost; along the time between the frames after the first, which
                  ///< stays
  unfold_frames,  ///< {x, z} -> y: the first frame of x; then two for each later one of z, whose first half
                  ///< of the channels is the earlier one
  gate,           ///< {x} -> y: the first half of the channels * silu(the second half)
  depth_to_space,  ///< {x} -> y: channels c * factor² … become the factor × factor pixels of channel c; where
                   ///< they hold several frames too, frame by frame, and repeated until they are enough
  key_value_sums,  ///< {x …} -> s: of each head, sums over all positions of v and of 1 by relu(k); a barrier
  linear_attention,  ///< {x …, s} -> y: of each head, relu(q) by those sums, their quotient
  activate,          ///< {x} -> y: `activation` of each value
};

/// The steps of tile programs (decoder/plan/plan.h). Most carry out an operation and are named after it.
/// "Filled" tiles have what Step::edges says outside the picture.
enum class StepKind {
  gather,            ///< copy a region into a tile, filled
  norm,              ///< normalise and activate a region into a tile, filled
  upsample,          ///< repeat a region into a tile, filled
  conv,              ///< convolve a filled tile that holds its halo; into one that is filled as well
  add,               ///< sum of two regions, activated
  attention,         ///< a tile of queries against all keys and values
  interpolate,       ///< positions between positions, in a region
  unfold_frames,     ///< channels to frames, in a region
  rms_norm,          ///< normalise each position of a region by itself into a tile, filled
  gate,              ///< one half of the channels by the other
  depth_to_space,    ///< channels to pixels
  linear_attention,  ///< queries of a region by the sums over all keys and values
  activate,          ///< activate a region into a tile, filled
  statistics,        ///< merge the tile's own positions into the statistics
  key_value_sums,    ///< add those of the tile's own positions to the sums
  store,             ///< write the tile's own positions to a kept tensor
  accumulate,        ///< add the tile's own positions onto a kept tensor, activated, which becomes
                     ///< `op`'s output
  emit,              ///< hand the tile's own positions to the output
};

constexpr size_t kStepKinds = static_cast<size_t>(StepKind::emit) + 1;
inline constexpr std::array<StepKind, kStepKinds> kAllSteps = [] {
  std::array<StepKind, kStepKinds> kinds{};
  for (size_t i = 0; i < kStepKinds; ++i) kinds[i] = static_cast<StepKind>(i);
  return kinds;
}();

/// Inputs that must be there over their whole extent before an operation has any output.
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
  /// Its result is never kept: it is computed position by position from something no larger.
  bool cheap = false;
  /// Its step reads a tile of its first input that matches what it needs to the position.
  bool reads_exact_tile = false;
  /// Its step can make a tile that reaches around the picture.
  bool pads = false;
  /// Its results are rounded to the plan's dtype where they are computed: they may be kept. Others
  /// have the values of their input, or are recomputed wherever they are read.
  bool rounds = false;
  /// Its parameters are a scale and a bias for each channel.
  bool has_scale_and_bias = false;
};
const OperationTraits& traits_of(OpKind kind);

const char* name_of(OpKind kind);
/// "?" for what is no step.
const char* name_of(StepKind kind);
/// Steps that make a tile. The others make something whole, of the tile's own positions.
bool makes_tile(StepKind kind);
/// Steps that gather what a barrier needs: statistics, sums.
bool takes_statistics(StepKind kind);
/// Steps whose results are rounded to the plan's dtype (OperationTraits::rounds).
bool rounds(StepKind kind);

}  // namespace headroom
