#pragma once

#include <optional>
#include <vector>

#include "decoder/lowering/lowering.h"

// The halos of the tiles of a pass: what each operation reads beyond its outputs (decoder/graph/geometry.h),
// added up from the goals of the pass back to what is kept.
namespace headroom {

/// The axes along which a tile has earlier positions from the tile before it, copied: the time, and rows in a
/// pass that carries them.
struct CarriedAxes {
  bool rows = false;
  /// Converts `before` along carried axes from input_halo()'s count to a step's: positions before the fresh
  /// ones.
  void add_after(Halo& halo) const;
  /// Sets `before`, as input_halo() counts it, for a reader that begins at the first fresh position.
  void begin_at_after(Halo& halo) const;
  /// The halo of a step without the positions that its tile has from the one before.
  Halo fresh(Halo halo) const {
    halo.before.t = 0;
    if (rows) halo.before.y = 0;
    return halo;
  }
};

/// The halo of an input that makes an output halo possible. Along a carried axis, the time, `output.after`
/// says by how many frames the output runs ahead of its chunk, and `after` of the result by how many the
/// input must. What comes before does not add up: a tile has the earlier frames of its chunk's predecessor.
/// `before` of the result is how many frames before the chunk's own are read, negative where those that are
/// read begin behind its first.
Halo input_halo(const Op& op, size_t input, const Halo& output, const CarriedAxes& carried);

/// Positions outside the picture that an operation reads. What lies before the first frame is no
/// part of a tile.
Axes<int32_t> input_pad(const Op& op, size_t input);

/// A tile that a reader wants exactly, contiguous, with `pad` positions where it leaves the picture.
struct ExactDemand {
  Halo halo;  ///< as a step has it
  Axes<int32_t> pad;
  Edges edges = Edges::zeros;  ///< values there
  friend bool operator==(const ExactDemand&, const ExactDemand&) = default;
};

/// The tile that an operation demands of an input, to make an output with this halo.
ExactDemand demand_of(const Op& op, size_t input, const Halo& output, const CarriedAxes& carried);

/// Demands of a pass's steps on one tensor.
struct Need {
  std::optional<Halo> loose;       ///< read by steps that can gather it themselves; as input_halo() has it
  std::vector<ExactDemand> exact;  ///< one per convolution or attention that reads it
  bool any() const { return loose || !exact.empty(); }
  /// The halo of a step whose tile serves all readers. Exact demands copy from that tile, and their copies
  /// keep earlier positions themselves.
  Halo all(const CarriedAxes& carried) const;
  void add_loose(const Halo& halo);
};

/// Demands of a pass on every tensor, and the operations that run for them.
class PassNeeds {
 public:
  /// Throws std::logic_error where a step needs a barrier that is not kept.
  PassNeeds(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal);

  const Need& of(TensorId id) const;
  // Operations outside of these do not run in the pass.
  size_t first_op() const { return first_op_; }
  size_t end_op() const { return end_op_; }

 private:
  /// The reference is good until the next call.
  Need& at(TensorId id);
  void add_goal(const Graph& graph, const PassGoal& goal);
  void add_inputs(const Op& op, const Halo& output, const std::vector<bool>& kept);

  const CarriedAxes carried_;

  // By tensor. A pass touches few of a graph's tensors, so the others take no space.
  std::vector<int32_t> numbers_;
  std::vector<Need> needs_;
  size_t first_op_ = 0, end_op_ = 0;
};

}  // namespace headroom
