#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/pass_catalog.h"

namespace headroom::planner {

/// A kept tensor and where it lives.
struct Residence {
  TensorId tensor{-1};
  MemoryTier tier = MemoryTier::device;
  friend auto operator<=>(const Residence&, const Residence&) = default;
};

/// The live kept tensors: those that later passes can still read, sorted. Nothing else that happened
/// before matters to those passes.
using Frontier = std::vector<Residence>;

struct State;

/// One way to run a pass from a frontier: what it keeps, and the frontier after it. How it is run is worked
/// out only once a search looks at it (PlanSpace::work_out).
struct Choice {
  const KeepSet* set = nullptr;
  std::vector<TensorId> below;  ///< what is kept in the lower tier
  State* next = nullptr;        ///< what is there before the next pass
  int64_t beside_bytes =
      0;  ///< resident weights, latent, reserve, and tensors on the device that the pass does not touch
  double recompute_seconds = 0;  ///< what passes ahead must run at the least, beside least_seconds_from()
  /// Lower bound on its seconds, learned under the limits of the searches so far (PlanSpace::begin_search).
  double learned_seconds = 0;
  // Once it is worked out:
  std::vector<TensorId> in_place;
  TileChoice* shapes = nullptr;  ///< with what the pass brings in, without what follows
  double beside_seconds = 0;     ///< bringing the pass's weights in; what is waited for from other ranks
  int64_t peak_bytes(const Shape& shape) const { return beside_bytes + shape.peak_bytes; }
  double seconds(const Shape& shape) const { return beside_seconds + shape.seconds; }
};

/// A frontier before a pass: a node of the search. It stays where it is.
struct State {
  size_t pass = 0;
  size_t number = 0;  ///< of those before the pass
  const Frontier* frontier = nullptr;
  int64_t device_bytes = 0;                      ///< with resident weights, latent and reserve
  std::optional<std::vector<Choice>> choices{};  ///< once they are known
  /// Lower bound on the seconds from here to the end, learned likewise.
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

/// The plans that are searched for one configuration. docs/planning.md states the space; in short: passes in
/// order of barrier depth; a tensor is kept in the pass that first can compute it or in the next one,
/// on the device or below, and dropped as soon as no later pass reads it; residuals are added in place
/// where nothing else reads them; tiles are bands or rectangles of halved extents.
class PlanSpace {
 public:
  PlanSpace(const Model& model, const Request& request, const Configuration& configuration,
            const CostModel& costs);
  /// Shares what passes can do with other spaces of the same micro-batch.
  PlanSpace(std::shared_ptr<PassCatalog> catalog, const Configuration& configuration);

  size_t passes() const { return catalog_->passes(); }
  /// Start of every search: before the first pass, with the latent alone.
  State& start() { return *start_; }
  /// All choices for the pass from this state. Computed once.
  std::vector<Choice>& choices(State& state);
  /// Works out how a choice from there is run, and prices it.
  void work_out(const State& state, Choice& choice);
  const Configuration& configuration() const { return configuration_; }
  const std::shared_ptr<PassCatalog>& catalog() const { return catalog_; }
  /// Bytes beside what passes need: resident weights, latent, reserve.
  int64_t fixed_bytes() const { return fixed_bytes_; }
  /// Seconds before the first pass: loading weights that stay.
  double start_seconds() const { return start_seconds_; }
  /// A lower bound of the seconds that passes from `pass` on take.
  double least_seconds_from(size_t pass) const { return least_seconds_from_[pass]; }

  /// Begins a search under this limit. Bounds learned under a limit hold for all smaller limits, so this call
  /// forgets bounds learned under smaller ones.
  void begin_search(int64_t limit_bytes);
  /// A search under this limit has ended and has learned something. `limit_was_binding`: the limit excluded a
  /// choice.
  void end_search(int64_t limit_bytes, bool limit_was_binding);
  /// True if the learned bounds do not hold without a limit.
  bool learned_limit_was_binding() const { return learned_limit_was_binding_; }

 private:
  State& state_of(size_t pass, Frontier frontier);
  /// One choice for every way to put what is kept on the device or below.
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
  int64_t learned_limit_bytes_ = std::numeric_limits<int64_t>::max();  ///< the smallest of the searches
  bool learned_limit_was_binding_ = false;
};

}  // namespace headroom::planner
