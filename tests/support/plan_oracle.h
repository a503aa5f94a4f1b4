#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "decoder/schedule/build_plan.h"
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

/// One way to run a pass from a given state, priced by the simulation.
struct OracleChoice {
  std::vector<TensorId> keeps, in_place, below;
  size_t next = 0;  ///< state before the next pass
  std::vector<OracleShape> shapes;
};

/// Tensors available before a pass, and the choices from there.
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

/// Enumerates every plan of the search space in docs/planning.md. It prices each with simulate_pass() and
/// uses none of PlanSpace, PassCatalog and CostModel. Tile programs come from the decoder's lower_pass(), as
/// in the planner.
class PlanOracle {
 public:
  /// Gives up if the choices of one pass, over all states, exceed `most_choices`.
  PlanOracle(const Model& model, const Request& request, const OracleConfiguration& configuration,
             const Assumptions& assumptions, size_t most_choices);

  bool complete() const { return complete_; }
  size_t passes() const { return targets_.size(); }
  double start_seconds() const { return start_seconds_; }

  /// Least time of one micro-batch among all plans under the limit, in seconds. Infinite if no plan fits.
  double fewest_seconds(int64_t limit_bytes) const;
  /// Smallest peak of all plans, in bytes.
  int64_t smallest_peak() const;

 private:
  void expand(size_t pass, OracleState& state);
  void add_choice(size_t pass, OracleState& state, const std::vector<TensorId>& keeps,
                  const std::vector<TensorId>& below);
  /// Tensors kept after a pass. Unset if the pass keeps a tensor that no later pass reads.
  std::optional<std::vector<Found>> found_after(size_t pass, const OracleState& state,
                                                const std::vector<TensorId>& keeps,
                                                const std::vector<TensorId>& below) const;
  /// Operations that run in a pass: all on the way from the available tensors to the pass's targets.
  std::vector<bool> operations_run(size_t pass, const std::vector<TensorId>& keeps,
                                   const std::vector<bool>& present) const;
  /// True if a pass that runs these operations could add the sum onto `base`.
  bool adds_onto(TensorId sum, TensorId base, const std::vector<bool>& runs) const;
  /// True if a convolution performs the add that makes `sum`, given the available tensors.
  bool convolution_adds(size_t pass, const std::vector<TensorId>& keeps, std::vector<bool> present,
                        TensorId sum) const;
  /// Adds the statistics that passes before `pass` measure.
  void add_measured(size_t pass, std::vector<bool>& present) const;
  void price(size_t pass, const OracleState& state, const std::vector<TensorId>& replaced,
             const std::vector<Found>& after, OracleChoice& choice) const;
  /// Combines the values of choices along each sequence with `join`. Returns the least result.
  template <typename Value, typename OfChoice, typename Join>
  Value least(const OfChoice& of_choice, const Join& join) const;
  int64_t size(TensorId id) const;
  bool may_be_kept(TensorId id) const;
  bool all_goes_through(TensorId other, TensorId id) const;
  /// Kept tensors that passes after `pass` read, directly or to recompute other tensors.
  bool serves_whole_reads_alone(TensorId id) const;
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
  std::set<int32_t> optional_depths_;  ///< of passes that are optional
  std::vector<std::vector<OracleState>> states_;
  std::vector<std::map<std::vector<Found>, size_t>> numbers_;  ///< index of each state, by pass
  double start_seconds_ = 0;
  bool complete_ = true;
};

}  // namespace headroom::test
