#pragma once

#include <string>
#include <vector>

#include "decoder/graph/geometry.h"
#include "decoder/graph/graph.h"

// The properties of operations that planner, profiler, costs and interpreter ask for.
namespace headroom {

/// The inputs of an operation that are barriers: they must be complete over the whole picture before the
/// operation can make any output.
enum class BarrierInputs { none, all, all_but_first, last };

/// A parameter of an operation.
struct Parameter {
  std::string name;  ///< as in the weights file
  /// Convolutions: {out, in, kt, ky, kx} without the leading axes of extent 1 in 2-D models.
  std::vector<int64_t> shape;
};

/// The record of one kind of operation. Each file of this folder defines one, under the kind's name. An Op is
/// one operation of a graph (decoder/graph/graph.h); operation(op.kind) is its record. Functions that are
/// null stand for the plain case, which their comment states.
struct Operation {
  BarrierInputs barrier = BarrierInputs::none;
  /// Each position of the result depends only on that position of the inputs. Convolutions of 1 × 1 have this
  /// property too, although their kind does not.
  bool pointwise = false;
  /// The result is recomputed position by position from an input that is no larger. It is kept only as the
  /// keys and values of an attention, or at a cut point.
  bool cheap = false;
  /// Its step requires a tile of the first input that covers exactly the needed region.
  bool reads_exact_tile = false;
  /// Its step can make a tile with padding outside the picture.
  bool pads = false;
  /// Its results are rounded to the plan's dtype when they are computed, so they may be kept. Other
  /// operations only copy input values, or every reader recomputes them. See rounds_result().
  bool rounds = false;
  /// Its parameters are a scale and a bias for each channel.
  bool has_scale_and_bias = false;
  /// A pass that carries rows from one band to the next may contain its step.
  bool can_carry_rows = false;
  /// Its first input is mostly a kept tensor. Then measurements read it from memory, not from a cache.
  bool reads_kept = false;
  /// Further tensors of the result's size that diffusers' own code holds meanwhile.
  int32_t eager_copies = 0;

  /// The halo around an output position, in positions of the inputs. Null: none.
  Halo (*reach)(const Op& op) = nullptr;
  /// Padding that it reads outside the picture. Null: zeros.
  Edges (*edges_read)(const Op& op) = nullptr;
  /// True if an output may need any frame of the input. Then all frames must be present at once. Null: false.
  bool (*needs_all_frames)(const Op& op) = nullptr;
  /// Null: none, or `<name>.weight` and `<name>.bias` if it has a scale and a bias.
  std::vector<Parameter> (*parameters)(const Graph& graph, const Op& op) = nullptr;
  /// Floating-point operations for one output position (all channels). A multiply-add counts as two. Null: 0.
  double (*flops_per_position)(const Graph& graph, const Op& op, const Extent& latent) = nullptr;
  /// Names the calls that take the same time for tiles of the same size.
  std::string (*table_name)(const Graph& graph, const Op& op) = nullptr;
};
/// Steps that carry out no operation have a record too.
const Operation& operation(OpKind kind);

namespace operations {
#define X(kind) extern const Operation kind;
HEADROOM_OPERATIONS(X)
#undef X
}  // namespace operations

/// The halo that an operation reads around an output position, in positions of its inputs. Upsampling reads
/// only the position that it repeats. A 3×3 convolution over upsampling reads one further.
Halo reach(const Op& op);
/// How an operation pads its first input at the edges of the picture.
Edges edges_read(const Op& op);
/// True if an output may need any frame of the input. Then all frames must be present at once.
bool needs_all_frames(const Op& op);
/// True if input `input` must be complete before any output exists.
bool is_barrier(const Op& op, size_t input);
/// True if a plan keeps the tensor only for operations that read it whole. All others recompute it, because
/// it is cheap. An example is a normed tensor that is also the keys and values of an attention.
bool is_kept_for_barriers_only(const Graph& graph, TensorId id);
/// True if the result is rounded to the plan's dtype when it is computed: Operation::rounds, or attention
/// reads it as keys or values, for which it is kept.
bool rounds_result(const Graph& graph, const Op& op);
/// The region of the inputs that an output region needs, not clipped to the picture. Not for barrier inputs.
/// If needs_all_frames() is true, the region leaves out the other frames.
Region needed_region(const Op& op, const Region& output);
/// Tensor whose positions measure an operation's work: its result, or the input of statistics.
TensorId measured_tensor(const Op& op);
/// For each tensor, the number of barriers and optional cut points on the longest path from the latent. One
/// pass can compute all tensors of one depth. A barrier forces a new pass for the next depth. A cut point
/// allows one.
std::vector<int32_t> barrier_depths(const Graph& graph);

std::vector<Parameter> parameters_of(const Graph& graph, const Op& op);
/// `<name>.weight` and `<name>.bias`, one value of each for a channel of all frames.
std::vector<Parameter> scale_and_bias(const Graph& graph, const Op& op);
int64_t elements_of(const Parameter& parameter);
/// Elements of all parameters of a model. Counts a parameter once, even if several operations read it.
int64_t parameter_elements(const Graph& graph);
/// Operation::flops_per_position. Convolutions count as the direct algorithm does, with upsampling as its
/// phases do. For attention, `latent` determines the number of keys. If the number differs between frames,
/// the average counts.
double flops_per_position(const Graph& graph, const Op& op, const Extent& latent);

/// Channels of an operation's result, and of its first input.
int64_t output_channels(const Graph& graph, const Op& op);
int64_t input_channels(const Graph& graph, const Op& op);
/// The rows × columns of two extents, with the frames in front if there are several: "2x3x3".
std::string axes_text(const Axes<int32_t>& axes);
/// The activation behind a space; empty if there is none.
std::string activation_text(const Op& op);

}  // namespace headroom
