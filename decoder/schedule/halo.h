#pragma once

#include <optional>
#include <vector>

#include "decoder/schedule/lowering.h"

// Halos of a pass's tiles. Each operation reads beyond its outputs (reach() in
// decoder/operations/operation.h). These halos accumulate from the pass's goals back to kept tensors.
//
// Along a carried axis, a step makes new positions only. Its tile also has carried positions before these,
// copied from the tile before it. If the grid tile has the image [i, j) in the step's tensor and the step
// runs ahead by `after`, then the new positions are [i + after, j + after):
//
//                                i     i + after        j     j + after
//     image of the grid tile     |----------------------|
//     new positions                    |======================|
//     carried positions     |~~~~~~~~~~|
//     Step::halo.before     |<-------->|    counted from i + after
//     input_halo().before   |<-->|          counted from i; negative if reading begins after i
//
// So a step's `before` is input_halo()'s `before` plus `after`. add_after() adds it. `after` has one meaning.
// Along axes that carry nothing, both counts of `before` are the same.
namespace headroom {

/// The axes along which a tile copies earlier positions from the tile before it: always the time, and rows in
/// a pass that carries them.
struct CarriedAxes {
  bool rows = false;
  /// Converts `before` from input_halo()'s count to a step's.
  void add_after(Halo& halo) const;
  /// Sets `before`, in input_halo()'s count, for a reader that begins at the first new position.
  void begin_at_after(Halo& halo) const;
  /// The step's halo without carried positions: that of its new positions.
  Halo fresh(Halo halo) const {
    halo.before.t = 0;
    if (rows) halo.before.y = 0;
    return halo;
  }
};

/// The halo of an input that an output halo requires.
/// Along a carried axis, the result's `after` is the number of positions by which the input runs ahead of its
/// grid tile. `before` does not accumulate, because a tile has earlier positions from the tile before it.
Halo input_halo(const Op& op, const Halo& output, const CarriedAxes& carried);

/// Positions outside the picture that an operation reads. A tile never contains frames before the first one.
Axes<int32_t> input_pad(const Op& op);

/// A contiguous tile with exactly the region that a reader needs, with `pad` positions outside the picture.
struct ExactDemand {
  Halo halo;  ///< counted as in Step::halo
  Axes<int32_t> pad;
  Edges edges = Edges::zeros;  ///< values there
  friend bool operator==(const ExactDemand&, const ExactDemand&) = default;
};

/// The tile that an operation requires of its first input for an output with this halo.
ExactDemand demand_of(const Op& op, const Halo& output, const CarriedAxes& carried);

/// Demands of all steps of a pass on one tensor.
struct Need {
  /// Loose demand: steps that read their part of a larger tile. `before` in input_halo()'s count.
  std::optional<Halo> loose;
  /// Exact demands: convolutions and attention read a tile with exactly the region that they need.
  std::vector<ExactDemand> exact;
  bool any() const { return loose || !exact.empty(); }
  /// The halo of a step whose tile serves all readers. Readers with an exact demand copy their region from
  /// this tile, and the copy has carried positions of its own.
  Halo all(const CarriedAxes& carried) const;
  void add_loose(const Halo& halo);
};

/// Demands of a pass on every tensor, and the operations that it runs.
class PassNeeds {
 public:
  /// Throws std::logic_error if an operation's barrier (an input that must be complete) is not kept.
  PassNeeds(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal);

  const Need& of(TensorId id) const;
  // The pass runs no operations outside [first_op(), end_op()).
  size_t first_op() const { return first_op_; }
  size_t end_op() const { return end_op_; }

 private:
  /// The reference is valid until the next call.
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
