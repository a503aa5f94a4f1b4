#pragma once

#include <map>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/builder.h"
#include "planner/cost_model.h"

namespace headroom {

/// The kept tensors that later passes can still reach, sorted: all that what lies ahead depends on.
using Frontier = std::vector<TensorId>;

/// One tile shape for a pass with what it costs.
struct Shape {
  Extent tile;
  double seconds = 0;
  int64_t peak_bytes = 0;
};

/// One way to run a pass from a frontier: what it keeps, and the frontier after it.
struct Choice {
  std::vector<TensorId> keeps;
  std::vector<TensorId> in_place;
  Frontier next;
  std::vector<Shape> shapes;  ///< fastest first
};

/// The plans that are searched, for one slicing of the batch. docs/planning.md states the space; in short: passes in
/// order of barrier depth; a tensor is kept in the pass that first can compute it or in the next one, and dropped as
/// soon as nothing ahead reaches it; residuals are added in place where nothing else reads them; tiles are bands or
/// rectangles of halved extents.
class PlanSpace {
 public:
  PlanSpace(const Model& model, const Request& request, int64_t slice, const CostModel& costs);

  size_t passes() const { return targets_.size(); }
  /// All choices for pass `pass` from a frontier. Computed once per frontier.
  const std::vector<Choice>& choices(size_t pass, const Frontier& frontier);
  /// Bytes beside what passes need: weights, latent, reserve.
  int64_t fixed_bytes() const { return fixed_bytes_; }
  /// A lower bound of the seconds that passes from `pass` on take.
  double least_seconds_from(size_t pass) const { return least_seconds_from_[pass]; }
  const std::string& pass_name(size_t pass) const { return names_[pass]; }

 private:
  void find_candidates();
  void bound_times();
  std::vector<TensorId> creatable(size_t pass, const Frontier& frontier) const;
  /// The tensors of `kept` that passes after `pass` reach, without recomputing what is kept.
  Frontier reached_after(size_t pass, const std::vector<bool>& kept) const;
  std::vector<bool> flags(size_t pass, const Frontier& frontier) const;
  bool too_far_back(size_t pass, const Frontier& frontier) const;
  std::vector<Shape> price(const Pass& pass, const Frontier& frontier, const Choice& choice) const;
  Kept kept_entry(TensorId id) const;

  const Graph& graph_;
  const CostModel& costs_;
  Sizes sizes_;
  std::vector<BarrierTargets> targets_;
  std::vector<int32_t> tensor_depths_;
  std::vector<int32_t> pass_depths_;
  std::vector<std::string> names_;
  std::vector<TensorId> candidates_;
  std::vector<double> least_seconds_from_;
  int64_t fixed_bytes_ = 0;
  std::vector<std::map<Frontier, std::vector<Choice>>> known_;
};

}  // namespace headroom
