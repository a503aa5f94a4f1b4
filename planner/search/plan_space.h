#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/pass_catalog.h"

namespace headroom::planner {

/// Which rows of a tensor are stored: all, or those above the row of the latent that the configuration names,
/// or those that lower parts of passes read.
enum class KeptRows { all, above, below };

/// A materialised tensor and where it lives.
struct Residence {
  TensorId tensor{-1};
  MemoryTier tier = MemoryTier::device;
  KeptRows rows = KeptRows::all;
  friend auto operator<=>(const Residence&, const Residence&) = default;
};

/// The live materialised tensors: those that later passes can still read, sorted. Nothing else that happened
/// before matters to those passes.
using Frontier = std::vector<Residence>;
/// Where every search begins: the latent alone.
Frontier latent_frontier();

/// One way to run a pass from a frontier: what it keeps, and the frontier after it.
struct Choice {
  bool runs = true;           ///< the pass does
  bool at_cut_point = false;  ///< it is an optional one
  std::vector<TensorId> keeps;
  std::vector<TensorId> in_place;
  std::vector<TensorId> below;  ///< those of `keeps` that live in the lower tier
  KeptAbove above;              ///< that of `keeps` which is kept above a row
  Frontier next;
  TileChoice* shapes = nullptr;        ///< with what the pass brings in, without what follows
  TileChoice* lower_shapes = nullptr;  ///< the same of its lower part; null where the pass is whole
  int64_t beside_bytes =
      0;  ///< resident weights, latent, reserve, and tensors on the device that the pass does not touch
  double beside_seconds = 0;        ///< bringing the pass's weights in; what is waited for from other ranks
  double beside_lower_seconds = 0;  ///< bringing those of the lower part in
  double again_seconds = 0;         ///< what passes ahead must run at the least, beside least_seconds_from()
  int64_t peak_bytes(const Shape& shape) const { return beside_bytes + shape.peak_bytes; }
  double seconds(const Shape& shape) const { return beside_seconds + shape.seconds; }
  double lower_seconds(const Shape& shape) const { return beside_lower_seconds + shape.seconds; }
};

/// What is the same for all plans of one space. Spaces are searched one by one, and the best plan of all is
/// taken.
struct Configuration {
  int64_t micro_batch = 1;
  WeightResidency weights = WeightResidency::resident;
  /// Where tensors may live beside the device, and how much of them at one time.
  std::optional<MemoryTier> lower_tier{};
  int64_t lower_limit_bytes = 0;
  /// The row of the latent above which tensors may be kept; 0 where none may. Not with a lower tier.
  int64_t above_latent_rows = 0;
};

/// The plans that are searched for one configuration. docs/planning.md states the space; in short: passes in
/// order of barrier depth; a tensor is materialised in the pass that first can compute it or in the next one,
/// on the device or below, and dropped as soon as no later pass reads it; residuals are added in place
/// where nothing else reads them; tiles are bands or rectangles of halved extents.
class PlanSpace {
 public:
  PlanSpace(const Model& model, const Request& request, const Configuration& configuration,
            const CostModel& costs);
  /// Shares what passes can do with other spaces of the same micro-batch.
  PlanSpace(std::shared_ptr<PassCatalog> catalog, const Configuration& configuration);

  size_t passes() const { return catalog_->passes(); }
  /// All choices for pass `pass` from a frontier. Computed once per frontier.
  std::vector<Choice>& choices(size_t pass, const Frontier& frontier);
  const Configuration& configuration() const { return configuration_; }
  const std::shared_ptr<PassCatalog>& catalog() const { return catalog_; }
  /// Bytes beside what passes need: resident weights, latent, reserve.
  int64_t fixed_bytes() const { return fixed_bytes_; }
  /// Seconds before the first pass: loading weights that stay.
  double start_seconds() const { return start_seconds_; }
  /// A lower bound of the seconds that passes from `pass` on take.
  double least_seconds_from(size_t pass) const { return least_seconds_from_[pass]; }

 private:
  /// One choice for every way to put what is materialised on the device or below.
  void add_choices(size_t pass, const Frontier& frontier, const KeepSet& set, std::vector<Choice>& list);
  int64_t bytes_below(const Frontier& frontier, const std::vector<TensorId>& below) const;
  Present present_in(const Frontier& frontier) const;
  /// Bytes on the device of tensors that the pass does not touch.
  int64_t bytes_passing(const Frontier& frontier, const Present& passing) const;

  std::shared_ptr<PassCatalog> catalog_;
  const Configuration configuration_;
  std::vector<double> least_seconds_from_;
  int64_t fixed_bytes_ = 0;
  double start_seconds_ = 0;
  std::vector<std::map<Frontier, std::vector<Choice>>> choices_;  ///< by pass
};

}  // namespace headroom::planner
