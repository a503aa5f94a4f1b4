#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/schedule/build_plan.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/exchange_costs.h"
#include "planner/search/liveness.h"
#include "planner/search/pass_option.h"
#include "planner/search/tile_choice.h"

namespace headroom::planner {

/// Work of a pass on the kept tensors that it touches. Other kept tensors do not affect it, so all frontiers
/// that agree on the touched tensors share it.
struct PassWork {
  struct Takeover {
    TensorId target{-1}, base{-1};
  };
  std::vector<Takeover> takeovers;  ///< residuals that could be added in place
  /// Keyed by the tensors added in place. Empty until work() lowers the pass.
  std::map<std::vector<TensorId>, std::unique_ptr<PassOption>> options{};
};

/// One set of tensors that a pass may keep, in any memory tier.
struct KeepSet {
  bool runs = true;           ///< false for an optional pass that keeps nothing
  bool at_cut_point = false;  ///< the pass is an optional one
  std::vector<TensorId> keeps;
  std::vector<TensorId> next;     ///< kept tensors that are live after it, sorted
  std::vector<TensorId> passing;  ///< tensors present before the pass that it does not touch
  /// Lower bound on recomputation in later passes because this pass did not keep a result
  /// (PassLiveness::again): least seconds and parameter bytes, each operation once.
  double recompute_seconds = 0;
  int64_t recompute_weights_bytes = 0;
  /// Seconds that a rank waits for others after the pass: for their statistics, and for rows that later
  /// passes read.
  double exchange_seconds = 0;
  /// Lower bound on the pass's own seconds: the least seconds of each operation that it runs.
  double least_seconds = 0;
  std::map<std::vector<TensorUse>, PassWork>::value_type* work = nullptr;
};

/// Every way to run every pass, for one size of micro-batch. Independent of memory tiers, limits and the
/// residency of weights. Computed lazily, and shared by all spaces that differ only in those three.
class PassCatalog {
 public:
  /// With several ranks the catalog is for the rank with the most rows.
  PassCatalog(const Model& model, const Request& request, int64_t micro_batch, const CostModel& costs,
              const Ranks& ranks = {});
  PassCatalog(const PassCatalog&) = delete;
  PassCatalog& operator=(const PassCatalog&) = delete;

  /// True if the catalog can be reused for this request and these costs. Always false with several ranks.
  bool is_of(const Model& model, const Request& request, const CostModel& costs, const Ranks& ranks) const {
    return &graph_ == &model.graph && &costs_ == &costs && request_ == request && ranks_.alone() &&
           ranks.alone();
  }
  size_t passes() const { return liveness_.passes(); }
  const Graph& graph() const { return graph_; }
  const CostModel& costs() const { return costs_; }
  const Sizes& sizes() const { return sizes_; }
  const Request& request() const { return request_; }
  const PassLiveness& liveness() const { return liveness_; }
  /// Seconds that a rank waits for the extra rows that the option reads. It recomputes tensors from them that
  /// were not kept.
  double widening_seconds(const PassOption& option) const {
    return ranks_.alone() ? 0 : double(option.widened_bytes()) / ranks_.link.bytes_per_second;
  }

  /// Lower bound on the seconds to store or recompute the results of pass `pass` that later passes read
  /// (PassLiveness::read_by_later_passes()).
  double least_handover_seconds(size_t pass) const;

  /// Sets that pass `pass` may keep when these tensors, sorted, are present.
  const std::vector<KeepSet>& keep_sets(size_t pass, const std::vector<TensorId>& present);
  /// Work of the pass for this set. Lowers the pass on first use, because a search never looks at most sets.
  const PassWork& work(size_t pass, const std::vector<TensorId>& present, const KeepSet& set);
  const PassOption& option(size_t pass, const std::vector<TensorId>& present, const KeepSet& set,
                           const std::vector<TensorId>& in_place);
  /// The option's shapes, priced with its touched tensors in these tiers and its parameters resident or not.
  TileChoice& priced(const PassOption& option, const std::vector<MemoryTier>& tiers,
                     WeightResidency residency);
  /// Tensors of `keeps` that may live in the lower tier, in groups that move together: keys with their
  /// values, every other tensor alone.
  std::vector<std::vector<TensorId>> movable(size_t pass, const std::vector<TensorId>& keeps) const;
  /// Bytes of a kept tensor's blocks.
  int64_t kept_bytes(TensorId id) const { return bytes_if_kept_[index(id)]; }

 private:
  void find_sizes();
  double exchange_seconds(size_t pass, const KeepSet& set) const;
  std::vector<KeepSet> find_keep_sets(size_t pass, const std::vector<TensorId>& present);
  /// Completes a set whose `keeps` is filled in. Returns false if the set is not part of the plan space.
  bool complete(size_t pass, const std::vector<TensorId>& present, KeepSet& set);
  /// Kept tensors that the pass touches. Also sets the set's least_seconds.
  std::vector<TensorUse> touched_by(size_t pass, const std::vector<TensorId>& present, KeepSet& set) const;
  /// Option of the pass lowered to `goal`, with its alternative if there is one.
  std::unique_ptr<PassOption> option_of(size_t pass, const std::vector<bool>& available, const Pass& lowered,
                                        const PassGoal& goal, const std::vector<TensorUse>& touched);
  WorkingBytes& working_bytes(size_t pass, const Pass& lowered);

  const Graph& graph_;
  const Request request_;
  const CostModel& costs_;
  const Sizes sizes_;
  const Ranks ranks_;
  const PassLiveness liveness_;
  const KeptRows kept_rows_;
  std::vector<int64_t> op_weights_bytes_;  ///< by operation, for the direct algorithm
  std::vector<double> op_least_seconds_;   ///< by operation
  std::vector<int64_t> bytes_if_kept_;     ///< by tensor
  /// By pass and tensors present.
  std::vector<std::map<std::vector<TensorId>, std::vector<KeepSet>>> keep_sets_;
  std::vector<std::map<std::vector<TensorUse>, PassWork>> works_;  ///< by pass and tensors touched
  std::vector<std::deque<WorkingBytes>> working_;  ///< by pass: one entry for each distinct list of steps
  std::map<const PassOption*, ShapeOrders> orders_;
  std::map<std::tuple<const PassOption*, std::vector<MemoryTier>, WeightResidency>, TileChoice> priced_;
};

}  // namespace headroom::planner
