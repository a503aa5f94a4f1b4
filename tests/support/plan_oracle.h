#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "decoder/lowering/build_plan.h"
#include "tests/support/plan_simulation.h"

namespace headroom::test {

/// A kept tensor between two passes.
struct Found {
  TensorId tensor{-1};
  MemoryTier tier = MemoryTier::device;
  friend auto operator<=>(const Found&, const Found&) = default;
};

struct OracleShape {
  Extent tile;
  double seconds = 0;
  int64_t peak_bytes = 0;
};

/// One way to run a pass from what it finds, priced by the simulation.
struct OracleChoice {
  std::vector<TensorId> keeps, in_place, below;
  size_t next = 0;  ///< state before the next pass
  std::vector<OracleShape> shapes;
};

/// Tensors that a pass may find, and its choices then.
struct OracleState {
  std::vector<Found> found;
  std::vector<OracleChoice> choices;
};

/// Settings that all plans of one configuration share.
struct OracleConfiguration {
  int64_t micro_batch = 1;
  WeightResidency weights = WeightResidency::resident;
  std::optional<MemoryTier> lower_tier{};
  int64_t lower_limit_bytes = 0;
};

/// Every plan of the space that docs/planning.md states, written from that page and priced by
/// simulate_pass(): nothing of PlanSpace, PassCatalog or CostModel is used. What a plan decides and the tile
/// program that follows from it is the decoder's (lower_pass), as it is for the planner.
class PlanOracle {
 public:
  /// Gives up where a pass has more than `most_choices` in all.
  PlanOracle(const Model& model, const Request& request, const OracleConfiguration& configuration,
             const Assumptions& assumptions, size_t most_choices);

  bool complete() const { return complete_; }
  size_t passes() const { return targets_.size(); }
  double start_seconds() const { return start_seconds_; }

  /// The fewest seconds of one micro-batch over all sequences of choices under the limit. Infinite where none
  /// fits.
  double fewest_seconds(int64_t limit_bytes) const;
  /// The smallest peak over all sequences of choices, in bytes.
  int64_t smallest_peak() const;

 private:
  void expand(size_t pass, OracleState& state);
  void add_choice(size_t pass, const OracleState& state, const std::vector<TensorId>& keeps,
                  const std::vector<TensorId>& below, std::vector<OracleChoice>& choices);
  /// Tensors that are kept after a pass. Empty if the pass keeps a tensor that no later pass reads.
  std::optional<std::vector<Found>> found_after(size_t pass, const OracleState& state,
                                                const std::vector<TensorId>& keeps,
                                                const std::vector<TensorId>& below) const;
  /// Operations that run in a pass: all between the tensors that it finds and its targets.
  std::vector<bool> operations_run(size_t pass, const std::vector<TensorId>& keeps,
                                   const std::vector<bool>& present) const;
  /// True if a pass that runs these operations could add the sum onto `base`.
  bool adds_onto(TensorId sum, TensorId base, const std::vector<bool>& runs) const;
  /// True where a convolution carries out the add that makes `sum`, in a pass that finds these tensors.
  bool convolution_adds(size_t pass, const std::vector<TensorId>& keeps, std::vector<bool> present,
                        TensorId sum) const;
  /// Adds the statistics that passes before `pass` take.
  void add_measured(size_t pass, std::vector<bool>& present) const;
  void price(size_t pass, const OracleState& state, const std::vector<TensorId>& replaced,
             const std::vector<Found>& after, OracleChoice& choice) const;
  /// Joins the values of the choices of every sequence of choices. Returns the least result.
  template <typename Value, typename OfChoice, typename Join>
  Value least(const OfChoice& of_choice, const Join& join) const;
  int64_t size(TensorId id) const;
  bool may_be_kept(TensorId id) const;
  bool all_goes_through(TensorId other, TensorId id) const;
  /// The kept tensors that passes after `pass` read, straight or through what is recomputed.
  std::vector<bool> read_later(size_t pass, const std::vector<bool>& kept) const;
  std::vector<ConvolutionAlgorithms> algorithms_of(const Pass& pass) const;
  std::vector<OracleShape> priced(Pass pass, const std::vector<SimulatedTensor>& tensors) const;
  int64_t rows_of_block(TensorId id) const;

  const Graph& graph_;
  const OracleConfiguration configuration_;
  const Assumptions& assumptions_;
  const size_t most_choices_;
  Sizes sizes_;
  std::vector<BarrierTargets> targets_;
  std::vector<int32_t> depths_;  ///< by tensor
  std::vector<int32_t> pass_depths_;
  std::set<int32_t> optional_depths_;  ///< of passes that need not run
  std::vector<std::vector<OracleState>> states_;
  std::vector<std::map<std::vector<Found>, size_t>> numbers_;  ///< of states, by pass
  double start_seconds_ = 0;
  bool complete_ = true;
};

}  // namespace headroom::test
