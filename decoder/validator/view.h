#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/validator/validator.h"

/// Shared by the validator's checks: a plan with its graph and sizes, and a list of findings. The separate
/// namespace avoids clashes with other libraries' names for the same geometry.
namespace headroom::validation {

/// Saturating sum and product of nonnegative numbers.
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

  /// Work that the checks may still do, in intervals. Real plans need about a million. Without a limit, a
  /// small file with large counts could occupy the validator for hours.
  int64_t work_left = 50'000'000;
  int64_t blocks_left = 4'000'000;  ///< blocks that may still be checked, over all kept tensors
  /// Subtracts `work` from the work left. Reports a violation once, when nothing is left.
  bool spend(int64_t work);

  bool is_tensor(TensorId id) const;
  bool is_op(OpId id) const;
  /// Null if the tensor has no entry under `kept`.
  const KeptTensor* kept(TensorId id) const;
  const Step& step(const StepRef& ref) const { return plan.passes[ref.pass].steps[ref.step]; }

  std::string place(const StepRef& ref) const;
  std::string place(const KeptTensor& entry) const;
  std::string name(TensorId id) const;

  Interval picture(TensorId id, Axis axis) const;
  /// Rows at this scale that the plan's rank decodes; all rows for a single rank.
  Interval own_rows(int64_t scale) const;
  /// Rows that are stored: the rank's own, and rows of other ranks that it reads.
  Interval kept_rows(const KeptTensor& entry) const;
  /// The image of tile i of the pass along one axis, in positions of the tensor.
  Interval image(size_t pass, TensorId id, Axis axis, size_t i) const;
  /// Positions that the tile of a step covers along one axis, for tile i of the pass.
  Interval region(const StepRef& ref, Axis axis, size_t i) const;
  /// True if the step's tile carries positions from the tile before it along the axis: from the previous
  /// chunk or band.
  bool carries(const StepRef& ref, Axis axis) const;
  /// Positions of region() that the step computes inside the picture. Along an axis that it carries, this
  /// excludes positions carried from the previous tile.
  Interval made(const StepRef& ref, Axis axis, size_t i) const;
  /// Positions of an operand that the step reads. For a convolution they can lie outside the picture.
  Interval needed(const StepRef& ref, size_t input, Axis axis, size_t i) const;
  size_t tile_count(size_t pass, Axis axis) const { return at(plan.passes[pass].tiles, axis).size(); }
  /// PyTorch's executor has the rules of CUDA.
  bool on_cuda() const { return plan.request.device != DeviceKind::cpu; }
  /// An element of a tile: fp32 on the CPU, in the plan's dtype on CUDA.
  int64_t tile_element_bytes() const;
  /// Bytes of one row of one batch item, all of its frames.
  int64_t row_bytes(TensorId id) const;
  /// Bytes of one block of each item of a micro-batch, at full `block_rows`.
  int64_t block_bytes(const KeptTensor& entry) const;
  /// Blocks of one batch item.
  int64_t block_count(const KeptTensor& entry) const;
  /// Blocks of one batch item that contain some of these rows. The rows may lie outside the stored ones.
  Interval blocks_with(const KeptTensor& entry, const Interval& rows) const;

  /// Steps that write each kept tensor, in plan order; set by check_steps. Indexed like
  /// plan.kept.
  std::vector<std::vector<StepRef>> writers;
  /// True for each step whose kind, operation and operands fit together; set by check_steps.
  std::vector<std::vector<bool>> well_formed;

 private:
  /// Positions that the step computes along a carried axis, in tiles after the first. They are shifted by how
  /// far the step runs ahead.
  Interval computed(const StepRef& ref, Axis axis, size_t i) const;
  Interval frames_needed(const Step& reader, size_t input, const Interval& out) const;

  std::vector<int32_t> kept_index_;  ///< index in plan.kept by tensor; -1: not kept
  bool out_of_work_ = false;
};

/// The time at which each pass begins, and the end of the last pass. Time counts bands of tiles over all
/// passes. A sweep finishes all tiles and frames of a band before it moves on.
std::vector<int64_t> pass_starts(const View& view);

/// Blocks allocated or freed on the device: before the steps of a band of tiles, or by the step that first
/// writes them.
struct Change {
  int64_t time = 0;
  int64_t step = -1;
  int64_t bytes = 0;
};

/// True for a copy from a kept tensor, which also has the earlier frames. Other steps carry earlier frames
/// from chunk to chunk.
bool copies_kept(const Step& step);
/// True for steps that make a tile, which later steps of the pass can read.
bool computes_tile(const Step& step);
/// True for steps that gather statistics or sums. They must count each position once.
bool counts_positions(OpKind kind);
/// True for steps that read and write only the tile's own positions.
bool writes_whole(OpKind kind);
/// True for a convolution that writes its result into the tensor's blocks.
bool writes_blocks(const Step& step);
/// True for the operand that a convolution adds to its sums. The step reads it at the positions that it
/// writes.
bool adds_operand(const Step& step, size_t input);
/// True if the step reads the whole operand: keys and values, and statistics.
bool reads_whole(const Step& step, size_t input);

/// Checks request, kept tensors and tile grids. Returns false if no further check is possible.
bool check_outline(View& view);
/// Checks kind, operation, tensor, halo, pad and operands of every step.
void check_steps(View& view);
/// Checks that each step's inputs are available, and that whole tensors and statistics are made exactly once.
void check_flow(View& view);
/// Checks owners of blocks, and bytes against the limit. Requires that the checks above found nothing.
void check_memory(View& view);
/// Runs all of these checks in this order.
void check_plan(View& view);

// Parts of check_memory:

/// Returns the bytes of parameters that each pass needs on the device. Reports a `weights_bytes` that is too
/// small.
std::vector<int64_t> check_weights(View& view);
/// Bytes on CUDA of statistics and sums, of values derived from them, and of their partial sums. They are
/// live throughout. 0 on the CPU.
int64_t state_bytes(const View& view);
/// Number of statistics values of an operation for one item: count, mean and squared differences of each
/// group, or sums of keys and values. 0 for other operations.
int64_t gathered_values(const View& view, const Op& op);
/// Checks the kept tensors in host memory and in the scratch file against the limits of these tiers.
void check_lower_tiers(View& view);
/// Appends the device block changes of a tensor in host memory or in the scratch file. The device holds only
/// blocks that a sweep is about to read or has just written. Returns false if the work budget ran out.
bool append_window(View& view, const KeptTensor& entry, const std::vector<int64_t>& starts,
                   std::vector<Change>& changes);

}  // namespace headroom::validation
