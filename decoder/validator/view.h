#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/validator/validator.h"

/// Common ground of the validator's checks: a plan with its graph and sizes, and a list of findings. A
/// separate namespace avoids clashes, since other libraries have their own names for the same geometry.
namespace headroom::validation {

/// Sums and products of numbers that are not negative, stopping at the largest 64-bit one.
int64_t add(int64_t a, int64_t b);
int64_t multiply(int64_t a, int64_t b);

constexpr Axis kTime = Axis::t, kRows = Axis::y, kColumns = Axis::x;
constexpr std::array<Axis, 3> kAxes{kTime, kRows, kColumns};
const char* letter(Axis axis);

/// Collects violations up to a bound, so that a hostile plan cannot make the report itself the problem.
class Findings {
 public:
  void add(Violation::Kind kind, std::string place, std::string what);
  bool full() const { return list_.size() >= kMost; }
  bool empty() const { return list_.empty(); }
  std::vector<Violation> take() { return std::move(list_); }

 private:
  static constexpr size_t kMost = 20;
  std::vector<Violation> list_;
};

std::string to_text(const Interval& interval);

/// A step of the plan by its position.
struct StepRef {
  size_t pass = 0;
  size_t step = 0;
  friend bool operator==(const StepRef&, const StepRef&) = default;
};

class View {
 public:
  View(const Plan& checked_plan, const Graph& checked_graph, const Extent& latent_extent);

  const Plan& plan;
  const Graph& graph;
  const Extent latent;
  Findings findings;

  /// Work that the checks may still do, in intervals looked at. Real plans need about a million; without a
  /// bound a small file with large counts could hold the validator for hours.
  int64_t work_left = 50'000'000;
  int64_t blocks_left = 4'000'000;  ///< of all kept tensors together
  /// Takes from the work left. Reports once where nothing is left.
  bool spend(int64_t work);

  bool is_tensor(TensorId id) const;
  bool is_op(OpId id) const;
  /// Null where the tensor has no entry under `kept`.
  const KeptTensor* kept(TensorId id) const;
  const Step& step(const StepRef& ref) const { return plan.passes[ref.pass].steps[ref.step]; }

  std::string place(const StepRef& ref) const;
  std::string place(const KeptTensor& entry) const;
  std::string name(TensorId id) const;

  Interval picture(TensorId id, Axis axis) const;
  /// Rows of a grid or of a tensor with this scale that the plan's rank decodes: all where it is alone.
  Interval own_rows(int64_t scale) const;
  /// Rows that are stored: a rank's own, and those of others that it reads.
  Interval kept_rows(const KeptTensor& entry) const;
  /// The image of tile i of the pass along one axis, in positions of the tensor.
  Interval image(size_t pass, TensorId id, Axis axis, size_t i) const;
  /// Positions that the tile of a step covers along one axis, for tile i of the pass.
  Interval region(const StepRef& ref, Axis axis, size_t i) const;
  /// True if the step's tile takes positions from the tile before it along the axis, which is the chunk or
  /// the band before.
  bool carries(const StepRef& ref, Axis axis) const;
  /// Positions of region() that the step computes inside the picture. Along an axis that it carries,
  /// positions of the tile before are left out.
  Interval made(const StepRef& ref, Axis axis, size_t i) const;
  /// Positions of an operand that the step reads. For a convolution they can lie outside the picture.
  Interval needed(const StepRef& ref, size_t input, Axis axis, size_t i) const;
  size_t tile_count(size_t pass, Axis axis) const { return at(plan.passes[pass].tiles, axis).size(); }
  bool on_cuda() const { return plan.request.device == DeviceKind::cuda; }
  /// An element of a tile: fp32 on the CPU, in the plan's dtype on CUDA.
  int64_t tile_element_bytes() const;
  /// Bytes of one row of one batch item, all of its frames.
  int64_t row_bytes(TensorId id) const;
  /// Bytes of one block of each item of a micro-batch, at full `block_rows`.
  int64_t block_bytes(const KeptTensor& entry) const;
  /// Blocks of one batch item.
  int64_t block_count(const KeptTensor& entry) const;
  /// Blocks of one batch item that have some of these rows, which may lie outside what is stored.
  Interval blocks_with(const KeptTensor& entry, const Interval& rows) const;

  /// Steps that write each kept tensor, in plan order; set by check_steps. Indexed like
  /// plan.kept.
  std::vector<std::vector<StepRef>> writers;
  /// True for each step whose kind, operation and operands fit together; set by check_steps.
  std::vector<std::vector<bool>> well_formed;

 private:
  /// Positions that the step computes along an axis that it carries, behind the first tile. They are moved by
  /// how far the step runs ahead.
  Interval computed(const StepRef& ref, Axis axis, size_t i) const;
  Interval frames_needed(const Step& reader, size_t input, const Interval& out) const;

  std::vector<int32_t> kept_index_;  ///< by tensor, -1 where it is not kept
  bool out_of_work_ = false;
};

/// For each pass, its first band of tiles in the plan's time: bands of tiles are counted, pass after pass,
/// since a sweep goes along a whole band, through all frames of each of its tiles, before its rows change.
/// One more at the end.
std::vector<int64_t> pass_starts(const View& view);

/// Blocks that come to the device or leave it: before the steps of a band of tiles, or with the step that
/// first writes them.
struct Change {
  int64_t time = 0;
  int64_t step = -1;
  int64_t bytes = 0;
};

/// A copy out of a kept tensor, which has earlier frames too. Other steps carry theirs from chunk to
/// chunk.
bool copies_kept(const Step& step);
/// Steps that make a tile, which later steps of the pass can read.
bool computes_tile(const Step& step);
/// Steps that gather a barrier's statistics or sums, each position once.
bool counts_positions(StepKind kind);
/// Steps that read and write the tile's own positions only.
bool writes_whole(StepKind kind);
/// A convolution that writes the blocks of what it makes.
bool writes_blocks(const Step& step);
/// The operand that a convolution adds to its sums, read where it writes.
bool adds_operand(const Step& step, size_t input);
/// True where the operand is read over its whole extent: keys and values, and statistics.
bool reads_whole(const Step& step, size_t input);

/// Request, kept tensors and tile grids. False where nothing further can be made of the plan.
bool check_outline(View& view);
/// Kind, operation, tensor, halo, pad and operands of every step.
void check_steps(View& view);
/// Checks that each step's inputs are there, and that whole tensors and statistics are made exactly once.
void check_flow(View& view);
/// Owners of blocks, and bytes against the limit. Only for plans that the checks above found sound.
void check_memory(View& view);
/// All of these, in this order.
void check_plan(View& view);

// Parts of check_memory:

/// Bytes of parameters that each pass needs on the device; reports where `weights_bytes` is less.
std::vector<int64_t> check_weights(View& view);
/// On CUDA bytes of statistics and sums, of what follows from them and of what they are gathered in, which
/// are there throughout; 0 on the CPU.
int64_t state_bytes(const View& view);
/// Numbers that an operation gathers of one item over all positions: count, mean and squared differences of
/// each group, or sums of keys and values. 0 for operations that gather none.
int64_t gathered_values(const View& view, const Op& op);
/// Checks the kept tensors in host memory and in the scratch file against the limits of these tiers.
void check_lower_tiers(View& view);
/// Appends the block changes of a tensor in host memory or in the scratch file. Only blocks that a sweep is
/// about to read or has just written are on the device. False if the work left was not enough.
bool append_window(View& view, const KeptTensor& entry, const std::vector<int64_t>& starts,
                   std::vector<Change>& changes);

}  // namespace headroom::validation
