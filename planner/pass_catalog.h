#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/builder.h"
#include "planner/cost_model.h"
#include "planner/pass_option.h"

namespace headroom {

/// What a pass does with the kept tensors that it touches. What merely stays meanwhile does not change it, so all
/// frontiers that agree in the tensors touched share it.
struct PassWork {
  struct Takeover {
    TensorId target{-1}, base{-1};
  };
  std::vector<Takeover> takeovers;  ///< residuals that could be added in place
  std::map<std::vector<TensorId>, std::unique_ptr<PassOption>> options{};  ///< by what is added in place
};

/// What a pass may keep, wherever it lives.
struct KeepSet {
  std::vector<TensorId> keeps;
  std::vector<TensorId> next;     ///< kept tensors that passes after it can reach
  std::vector<TensorId> passing;  ///< those of `next` that the pass does not touch
  PassWork* work = nullptr;
};

/// Every way to run every pass, for one slicing of the batch; places, limits and the residency of weights are still
/// open. Worked out when first asked for, and shared by all spaces that differ only in those.
class PassCatalog {
 public:
  PassCatalog(const Model& model, const Request& request, int64_t slice, const CostModel& costs);
  PassCatalog(const PassCatalog&) = delete;
  PassCatalog& operator=(const PassCatalog&) = delete;

  size_t passes() const { return targets_.size(); }
  const std::string& pass_name(size_t pass) const { return names_[pass]; }
  const Graph& graph() const { return graph_; }
  const CostModel& costs() const { return costs_; }
  const Sizes& sizes() const { return sizes_; }
  /// Operations of which every plan runs at least these from pass `pass` on, beside those of later passes: what the pass
  /// cannot find ready, and what it is the first that can run and some pass must.
  const std::vector<OpId>& own_operations(size_t pass) const { return own_operations_[pass]; }

  /// What handing on what pass `pass` measures takes at the least: a norm of a later pass reads it again, so it is
  /// stored, or added onto what is kept, or computed anew.
  double least_handover_seconds(size_t pass) const;

  /// What pass `pass` may keep where it finds these tensors, sorted.
  std::vector<KeepSet>& keep_sets(size_t pass, const std::vector<TensorId>& present);
  const PassOption& option(size_t pass, const std::vector<TensorId>& present, const KeepSet& set,
                           const std::vector<TensorId>& in_place);
  /// Keys and values are read whole by every tile, so they stay on the device.
  bool may_go_below(size_t pass, TensorId id) const;
  /// Bytes of a kept tensor's blocks.
  int64_t stored_bytes(TensorId id) const { return stored_bytes_[index(id)]; }

 private:
  void find_candidates();
  void find_own_operations();
  void find_stored_bytes();
  std::vector<TensorId> creatable(size_t pass, const std::vector<TensorId>& present) const;
  std::vector<bool> flags(size_t pass, const std::vector<TensorId>& present) const;
  /// All tensors that passes after `pass` read or recompute, without recomputing what is kept.
  std::vector<bool> read_after(size_t pass, const std::vector<bool>& kept) const;
  /// Those that are read from where they are kept: what lies ahead depends on them alone.
  std::vector<TensorId> kept_of(const std::vector<bool>& reached, const std::vector<bool>& kept) const;
  /// Kept tensors that the pass reads, sorted; the latent is none of them.
  std::vector<TensorId> read_by(size_t pass, const std::vector<TensorId>& keeps, const std::vector<bool>& kept) const;
  /// What deeper passes read directly, whatever is kept: nothing of theirs can be ready. Found once for each pass.
  void find_demands();
  /// True where a pass ahead would recompute a candidate across more barriers than plans do.
  bool too_far_back(size_t pass, const std::vector<bool>& reached, const std::vector<bool>& kept) const;
  std::vector<KeepSet> find_keep_sets(size_t pass, const std::vector<TensorId>& present);
  /// The pass's work where `kept` is there, `next` after it, and it reads or drops `touched`.
  PassWork& work_of(size_t pass, const std::vector<bool>& kept, const KeepSet& set, const std::vector<TensorId>& touched);

  const Graph& graph_;
  const CostModel& costs_;
  Sizes sizes_;
  std::vector<BarrierTargets> targets_;
  std::vector<int32_t> tensor_depths_;
  std::vector<int32_t> pass_depths_;
  std::vector<std::string> names_;
  std::vector<TensorId> candidates_;
  std::vector<std::vector<bool>> demands_;  ///< by pass: tensors that passes after it reach through deeper ones
  std::vector<size_t> deepest_;             ///< by pass: one past its last tensor, those of earlier passes included
  std::vector<std::vector<OpId>> own_operations_;  ///< by pass
  std::vector<bool> is_candidate_;   ///< by tensor
  std::vector<int64_t> stored_bytes_;  ///< by tensor
  std::vector<int32_t> last_read_;   ///< by tensor: depth of the deepest reader, straight or through what is never kept
  std::vector<std::map<std::vector<TensorId>, std::vector<KeepSet>>> keep_sets_;  ///< by pass and tensors present
  std::vector<std::map<std::vector<TouchedTensor>, PassWork>> works_;             ///< by pass and tensors touched
};

}  // namespace headroom
