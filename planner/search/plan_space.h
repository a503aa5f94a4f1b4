#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/pass_catalog.h"

// Types of the search graph. An arrow points from an owner or user to its parts.
//
//     PlanSpace   one Configuration: micro-batch, weight residency, lower tier
//       |
//       +-> State: pass + Frontier   --choices-->   Choice: one edge to the State before the next pass
//       |            a sorted list of                 |
//       |            Residence: tensor + tier         +-> KeepSet: the tensors to keep, in any tier
//       |                                             |     +-> PassWork: one lowering, shared by frontiers
//       |                                             |           that differ in untouched tensors only
//       |                                             |           +-> PassOption: the steps; add in place or
//       |                                             |                 not, carried rows or not
//       |                                             +-> TileChoice: the shapes of a PassOption for one
//       |                                                   assignment of tiers, fastest first
//       |                                                   +-> Shape: tile, algorithms, seconds, peak
//       +-> PassCatalog: owns KeepSets, PassWork, PassOptions and TileChoices. PlanSpaces that differ only in
//             weight residency, lower tier and limit share it
namespace headroom::planner {

/// A kept tensor and where it lives.
struct Residence {
  TensorId tensor{-1};
  MemoryTier tier = MemoryTier::device;
  friend auto operator<=>(const Residence&, const Residence&) = default;
};

/// The live kept tensors, sorted: those that later passes can still read. Later passes depend on nothing else
/// from earlier passes.
using Frontier = std::vector<Residence>;

struct State;

/// One way to run a pass from a frontier: the tensors that it keeps, and the frontier after it. The details
/// are computed only when a search looks at the choice (PlanSpace::work_out).
struct Choice {
  const KeepSet* set = nullptr;
  std::vector<TensorId> below;  ///< newly kept tensors that go to the lower tier
  State* next = nullptr;        ///< state before the next pass
  /// Resident weights, latent, reserve, and device tensors that the pass does not touch.
  int64_t beside_bytes = 0;
  /// Lower bound on recomputation in later passes, in addition to least_seconds_from().
  double recompute_seconds = 0;
  /// Lower bound on its seconds, learned under the limits of the searches so far (PlanSpace::begin_search).
  double learned_seconds = 0;
  // Set by PlanSpace::work_out():
  std::vector<TensorId> in_place;
  TileChoice* shapes = nullptr;  ///< includes parameters that the pass loads; excludes beside_seconds
  double beside_seconds = 0;     ///< loading the pass's weights, and waiting for other ranks
  int64_t peak_bytes(const Shape& shape) const { return beside_bytes + shape.peak_bytes; }
  double seconds(const Shape& shape) const { return beside_seconds + shape.seconds; }
};

/// A node of the search graph: a frontier before a pass. Its address never changes.
struct State {
  size_t pass = 0;
  size_t number = 0;  ///< index among the states before this pass
  const Frontier* frontier = nullptr;
  int64_t device_bytes = 0;                      ///< includes resident weights, latent and reserve
  std::optional<std::vector<Choice>> choices{};  ///< unset until computed
  /// Lower bound on the seconds from here to the end, learned like Choice::learned_seconds.
  double learned_seconds = 0;
};

/// Decisions that all plans of one space share. The planner searches the spaces one by one and takes the best
/// plan of all.
struct Configuration {
  int64_t micro_batch = 1;
  WeightResidency weights = WeightResidency::resident;
  /// Memory tier for kept tensors besides the device, and the most bytes there at one time.
  std::optional<MemoryTier> lower_tier{};
  int64_t lower_limit_bytes = 0;
};

/// The search space of one configuration. docs/planning.md defines it. In short:
/// - Passes run in order of barrier depth.
/// - A tensor is kept by the first pass that can compute it or by the next one, on the device or in the lower
/// tier. It is dropped as soon as no later pass reads it.
/// - Residuals are added in place if nothing else reads them.
/// - Tiles are bands or rectangles of halved extents.
class PlanSpace {
 public:
  PlanSpace(const Model& model, const Request& request, const Configuration& configuration,
            const CostModel& costs);
  /// Shares the catalog with other spaces of the same micro-batch.
  PlanSpace(std::shared_ptr<PassCatalog> catalog, const Configuration& configuration);

  size_t passes() const { return catalog_->passes(); }
  /// Start of every search: the state before the first pass, where only the latent is present.
  State& start() { return *start_; }
  /// All choices for the pass from this state. Computed once.
  std::vector<Choice>& choices(State& state);
  /// Completes a choice from this state: its options, tile shapes and costs.
  void work_out(const State& state, Choice& choice);
  const Configuration& configuration() const { return configuration_; }
  const std::shared_ptr<PassCatalog>& catalog() const { return catalog_; }
  /// Bytes used throughout the decode: resident weights, latent, reserve, and a picture that stays in memory.
  int64_t fixed_bytes() const { return fixed_bytes_; }
  /// Seconds before the first pass, for loading resident weights.
  double start_seconds() const { return start_seconds_; }
  /// Lower bound on the seconds of the passes from `pass` on.
  double least_seconds_from(size_t pass) const { return least_seconds_from_[pass]; }

  /// Begins a search under this limit. Bounds learned under a limit hold for all smaller limits, so this call
  /// forgets bounds learned under smaller ones.
  void begin_search(int64_t limit_bytes);
  /// Records that a search under this limit has learned bounds. `limit_was_binding`: the limit excluded a
  /// choice.
  void end_search(int64_t limit_bytes, bool limit_was_binding);
  /// True if the learned bounds do not hold without a limit.
  bool learned_limit_was_binding() const { return learned_limit_was_binding_; }

 private:
  State& state_of(size_t pass, Frontier frontier);
  /// Adds one choice for every assignment of the newly kept tensors to the device or the lower tier.
  void add_choices(const State& state, const KeepSet& set, std::vector<Choice>& list);
  int64_t bytes_below(const Frontier& frontier, const std::vector<TensorId>& below) const;
  MemoryTier tier_after(const Frontier& frontier, const KeepSet& set, const std::vector<TensorId>& below,
                        TensorId id) const;
  /// Frontier after the pass, which keeps the tensors of `below` in the lower tier.
  Frontier frontier_after(const Frontier& frontier, const KeepSet& set,
                          const std::vector<TensorId>& below) const;
  /// Bytes on the device of these tensors.
  int64_t bytes_on_device(const Frontier& frontier, const std::vector<TensorId>& tensors) const;
  /// Bytes on the device of all tensors of the frontier except the latent.
  int64_t bytes_on_device(const Frontier& frontier) const;

  std::shared_ptr<PassCatalog> catalog_;
  const Configuration configuration_;
  std::vector<double> least_seconds_from_;
  int64_t fixed_bytes_ = 0;
  double start_seconds_ = 0;
  std::vector<std::map<Frontier, State>> states_;  ///< by pass
  State* start_ = nullptr;
  /// Smallest limit of all searches that learned bounds.
  int64_t learned_limit_bytes_ = std::numeric_limits<int64_t>::max();
  bool learned_limit_was_binding_ = false;
};

}  // namespace headroom::planner
