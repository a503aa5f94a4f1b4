#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/lowering/build_plan.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/exchange_costs.h"
#include "planner/search/kept_rows.h"
#include "planner/search/liveness.h"
#include "planner/search/pass_option.h"
#include "planner/search/tile_choice.h"

namespace headroom::planner {

/// What a pass does with the kept tensors that it touches. What merely stays meanwhile does not change it, so
/// all frontiers that agree in the tensors touched share it.
struct PassWork {
  struct Takeover {
    TensorId target{-1}, base{-1};
  };
  std::vector<Takeover> takeovers;  ///< residuals that could be added in place
  /// By what is added in place; empty until it is known.
  std::map<std::vector<TensorId>, std::unique_ptr<PassOption>> options{};
};

/// What a pass may keep, wherever it lives.
struct KeepSet {
  bool runs = true;           ///< an optional pass that keeps nothing does not
  bool at_cut_point = false;  ///< the pass is an optional one
  std::vector<TensorId> keeps;
  std::vector<TensorId> next;     ///< kept tensors that are live after it, sorted
  std::vector<TensorId> passing;  ///< those present before that the pass does not touch
  /// What passes after it must run at the least since its result was not kept (PassLiveness::again):
  /// least seconds and parameters of each operation, once.
  double recompute_seconds = 0;
  int64_t recompute_weights_bytes = 0;
  /// What a rank waits for others after the pass: for their statistics, and for rows that are read ahead.
  double exchange_seconds = 0;
  /// What the pass takes at the least: least seconds of what it runs.
  double least_seconds = 0;
  std::map<std::vector<TensorUse>, PassWork>::value_type* work = nullptr;
};

/// Every way to run every pass, for one size of micro-batch; memory tiers, limits and the residency of
/// weights are still open. Worked out when first asked for, and shared by all spaces that differ only in
/// those.
class PassCatalog {
 public:
  /// Of several ranks, for the one with the most rows.
  PassCatalog(const Model& model, const Request& request, int64_t micro_batch, const CostModel& costs,
              const Ranks& ranks = {});
  PassCatalog(const PassCatalog&) = delete;
  PassCatalog& operator=(const PassCatalog&) = delete;

  /// Whether it is of the passes of this request, by the same costs. Of several ranks it never is.
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
  /// What a rank waits for others because of the option: rows that are read to recompute what was not
  /// kept.
  double widening_seconds(const PassOption& option) const {
    return ranks_.alone() ? 0 : double(option.widened_bytes()) / ranks_.link.bytes_per_second;
  }

  /// What handing on what pass `pass` measures takes at the least: a norm of a later pass reads it again, so
  /// it is stored, or added onto what is kept, or computed anew.
  double least_handover_seconds(size_t pass) const;

  /// What pass `pass` may keep where it finds these tensors, sorted.
  const std::vector<KeepSet>& keep_sets(size_t pass, const std::vector<TensorId>& present);
  /// What the pass does to keep the set. Lowered when first asked for, as most sets are never looked at.
  const PassWork& work(size_t pass, const std::vector<TensorId>& present, const KeepSet& set);
  const PassOption& option(size_t pass, const std::vector<TensorId>& present, const KeepSet& set,
                           const std::vector<TensorId>& in_place);
  /// The option's shapes with the tensors that it touches in these tiers, and its parameters there or not.
  TileChoice& priced(const PassOption& option, const std::vector<MemoryTier>& tiers,
                     WeightResidency residency);
  /// Those of the tensors that pass `pass` keeps which may live below the device, in groups that go there
  /// together: keys with their values, each other tensor by itself.
  std::vector<std::vector<TensorId>> movable(size_t pass, const std::vector<TensorId>& keeps) const;
  /// Bytes of a kept tensor's blocks.
  int64_t kept_bytes(TensorId id) const { return bytes_if_kept_[index(id)]; }

 private:
  void find_sizes();
  double exchange_seconds(size_t pass, const KeepSet& set) const;
  std::vector<KeepSet> find_keep_sets(size_t pass, const std::vector<TensorId>& present);
  /// Completes a set of which what is kept is known. False where it is none of the plan space.
  bool complete(size_t pass, const std::vector<TensorId>& present, KeepSet& set);
  /// The kept tensors that the pass touches. Adds up what the set takes at the least.
  std::vector<TensorUse> touched_by(size_t pass, const std::vector<TensorId>& present, KeepSet& set) const;
  /// Of the pass that was lowered to this goal, with its alternative.
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
  std::vector<std::deque<WorkingBytes>> working_;                  ///< by pass, of different steps each
  std::map<const PassOption*, ShapeOrders> orders_;
  std::map<std::tuple<const PassOption*, std::vector<MemoryTier>, WeightResidency>, TileChoice> priced_;
};

}  // namespace headroom::planner
