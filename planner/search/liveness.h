#pragma once

#include <vector>

#include "decoder/lowering/lowering.h"
#include "decoder/plan/sizes.h"
#include "planner/search/tensor_set.h"

namespace headroom::planner {

/// Which tensors the passes of a graph can store, read and depend on: what the plan space knows of the graph
/// before anything has a cost. Sets of kept tensors need not hold the latent, which is always there.
class PassLiveness {
 public:
  PassLiveness(const Graph& graph, const Sizes& sizes);

  size_t passes() const { return targets_.size(); }
  const BarrierTargets& targets(size_t pass) const { return targets_[pass]; }
  /// Operations of which every plan runs at least these from pass `pass` on, beside those of later passes:
  /// what the pass cannot find ready, and what it is the first that can run and some pass must.
  const std::vector<OpId>& own_operations(size_t pass) const { return own_operations_[pass]; }

  /// Whether some pass may store the tensor.
  bool may_be_kept(TensorId id) const { return is_candidate_.contains(id) || is_always_kept_.contains(id); }
  /// What the pass computes whole and later passes read: results of adds, which may be accumulated in place,
  /// are left out.
  std::vector<TensorId> handed_on(size_t pass) const;

  TensorSet set_of(const std::vector<TensorId>& tensors) const;
  /// For lower_pass(): these and the statistics that earlier passes have measured.
  std::vector<bool> available(size_t pass, const std::vector<TensorId>& present) const;
  /// Tensors that the pass may keep but need not.
  std::vector<TensorId> creatable(size_t pass, const std::vector<TensorId>& present) const;
  /// All tensors that passes after `pass` read or recompute, without recomputing what is kept.
  TensorSet read_after(size_t pass, const TensorSet& kept) const;
  /// Those of them that are read from where they are kept: what lies ahead depends on them alone. The
  /// latent may be one.
  std::vector<TensorId> kept_of(const TensorSet& reached, const TensorSet& kept) const;
  /// What the pass computes or finds to keep these, without recomputing what is kept; sums and
  /// statistics among it.
  TensorSet needed_by(size_t pass, const std::vector<TensorId>& keeps, const TensorSet& kept) const;
  /// Kept tensors that are read of what is needed, sorted; the latent is none of them.
  std::vector<TensorId> read_of(const TensorSet& needed, const TensorSet& kept) const;
  /// Operations that are run for what is needed, but for statistics.
  std::vector<OpId> run_for(const TensorSet& needed, const TensorSet& kept) const;
  /// True where a pass ahead would recompute a candidate across more barriers than plans do.
  bool too_far_back(size_t pass, const TensorSet& reached, const TensorSet& kept) const;
  /// Operations of passes up to `pass` whose results are reached later but not kept: some pass after
  /// it must run them, beside own_operations() of those passes.
  std::vector<OpId> again(size_t pass, const TensorSet& reached, const TensorSet& kept) const;

 private:
  void find_candidates(const Sizes& sizes);
  /// True where a tensor is never kept, since it is computed position by position from something no
  /// larger.
  bool is_recomputed(TensorId id, const std::vector<int64_t>& bytes) const;
  /// True where all that deeper passes read of a tensor goes through another one that its own pass makes of
  /// it and that is no larger: that one may be kept instead.
  bool stands_behind_another(TensorId id, const std::vector<int64_t>& bytes) const;
  /// True where a deeper pass reads something that is made of `id` without `around`.
  bool read_deeper_around(TensorId id, TensorId around) const;
  void find_last_reads();
  void find_demands();
  void find_own_operations();
  void find_masks();
  /// Adds what tensors of `reached` before `end` are made of, back to what is kept.
  void walk_back(TensorSet& reached, TensorId end, const TensorSet& kept) const;

  const Graph& graph_;
  std::vector<BarrierTargets> targets_;
  std::vector<int32_t> tensor_depths_;
  std::vector<int32_t> pass_depths_;
  std::vector<TensorId> candidates_;  ///< tensors that may be kept
  TensorSet is_candidate_, is_always_kept_, statistics_;
  std::vector<int32_t>
      last_read_;  ///< by tensor: depth of the deepest reader, straight or through what is never kept
  std::vector<std::vector<OpId>> own_operations_;
  // By pass:
  std::vector<TensorSet> goals_;             ///< what it must compute whole, before any choice
  std::vector<std::vector<bool>> measured_;  ///< by tensor: statistics that earlier passes have measured
  std::vector<TensorSet> demands_;           ///< what deeper passes read directly, whatever is kept: nothing
                                             ///< of theirs can be ready
  std::vector<TensorId> end_;                ///< one past its last tensor, those of earlier passes included
  std::vector<TensorSet> own_later_;         ///< results of own operations of later passes
  std::vector<TensorSet> far_back_;          ///< candidates that the next pass may not recompute any more
  std::vector<std::vector<TensorId>> in_reach_;  ///< candidates that the pass may keep
};

}  // namespace headroom::planner
