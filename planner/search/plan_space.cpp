#include "planner/search/plan_space.h"

#include "decoder/lowering/storage.h"
#include "decoder/lowering/weights_bytes.h"

#include <algorithm>

namespace headroom::planner {
namespace {

MemoryTier tier_of(const Frontier& frontier, TensorId id) {
  const auto found =
      std::find_if(frontier.begin(), frontier.end(), [&](const Residence& r) { return r.tensor == id; });
  return found == frontier.end() ? MemoryTier::device : found->tier;
}

}  // namespace

Frontier latent_frontier() {
  return {{TensorId{0}, MemoryTier::device}};
}

PlanSpace::PlanSpace(const Model& model, const Request& request, const Configuration& configuration,
                     const CostModel& costs)
    : PlanSpace(std::make_shared<PassCatalog>(model, request, configuration.micro_batch, costs),
                configuration) {}

PlanSpace::PlanSpace(std::shared_ptr<PassCatalog> catalog, const Configuration& configuration)
    : catalog_(std::move(catalog)), configuration_(configuration) {
  const Graph& graph = catalog_->graph();
  const CostModel& costs = catalog_->costs();
  const Sizes& sizes = catalog_->sizes();
  const bool per_pass = configuration.weights == WeightResidency::per_pass;
  fixed_bytes_ = latent_bytes(graph, sizes) + device_state_bytes(graph, sizes) +
                 reserve_bytes(graph, sizes, costs.memory());
  if (!per_pass) {
    const int64_t weights = resident_weights_bytes(graph, sizes.storage());
    fixed_bytes_ += allocated_bytes(weights, sizes.device);
    start_seconds_ = costs.weights_seconds(weights);
  }
  least_seconds_from_.assign(passes() + 1, 0);
  for (size_t pass = passes(); pass-- > 0;) {
    double seconds = 0;
    for (OpId op : catalog_->liveness().own_operations(pass)) {
      seconds += costs.least_seconds(op, sizes);
      if (per_pass)
        seconds += costs.weights_seconds(
            weights_bytes(graph, graph.op(op), ConvolutionAlgorithm::direct, sizes.storage()));
    }
    least_seconds_from_[pass] =
        least_seconds_from_[pass + 1] + seconds + catalog_->least_handover_seconds(pass);
  }
  choices_.resize(passes());
}

/// Bytes in the lower tier while a pass runs.
int64_t PlanSpace::bytes_below(const Frontier& frontier, const std::vector<TensorId>& below) const {
  int64_t sum = 0;
  for (const Residence& residence : frontier)
    sum += residence.tier != MemoryTier::device ? catalog_->stored_bytes(residence.tensor) : 0;
  for (TensorId id : below) sum += catalog_->stored_bytes(id);
  return sum;
}

Present PlanSpace::present_in(const Frontier& frontier) const {
  Present present;
  for (const Residence& residence : frontier) {
    if (residence.rows == KeptRows::all) present.whole.push_back(residence.tensor);
    if (residence.rows == KeptRows::below) present.below.push_back(residence.tensor);
    if (residence.rows == KeptRows::above)
      present.above = {residence.tensor, configuration_.above_latent_rows};
  }
  return present;
}

int64_t PlanSpace::bytes_passing(const Frontier& frontier, const Present& passing) const {
  int64_t sum = passing.above.any() ? catalog_->stored_bytes(passing.above) : 0;
  for (TensorId id : passing.below) sum += catalog_->stored_bytes_below(id, configuration_.above_latent_rows);
  for (TensorId id : passing.whole) {
    if (tier_of(frontier, id) == MemoryTier::device) sum += catalog_->stored_bytes(id);
  }
  return sum;
}

void PlanSpace::add_choices(size_t pass, const Frontier& frontier, const KeepSet& set,
                            std::vector<Choice>& list) {
  std::vector<std::vector<TensorId>> movable;
  if (configuration_.lower_tier) movable = catalog_->movable(pass, set.keeps);
  const Present present = present_in(frontier);
  for (size_t placing = 0; placing < size_t{1} << movable.size(); ++placing) {
    std::vector<TensorId> below, in_place;
    for (size_t i = 0; i < movable.size(); ++i) {
      if (placing >> i & 1) below.insert(below.end(), movable[i].begin(), movable[i].end());
    }
    if (configuration_.lower_tier && bytes_below(frontier, below) > configuration_.lower_limit_bytes)
      continue;
    for (const PassWork::Takeover& takeover : set.work->takeovers) {
      if (tier_of(frontier, takeover.base) == MemoryTier::device && !contains(below, takeover.target))
        in_place.push_back(takeover.target);
    }
    const auto tier_after = [&](TensorId id) {
      if (contains(set.keeps, id))
        return contains(below, id) ? *configuration_.lower_tier : MemoryTier::device;
      return tier_of(frontier, id);
    };
    Frontier next;
    for (TensorId id : set.next.whole) next.push_back({id, tier_after(id)});
    for (TensorId id : set.next.below) next.push_back({id, MemoryTier::device, KeptRows::below});
    if (set.next.above.any()) next.push_back({set.next.above.tensor, MemoryTier::device, KeptRows::above});
    std::sort(next.begin(), next.end());
    const PassWork::Parts& parts = catalog_->option(pass, present, set, in_place);
    const PassOption& option = *parts.option;
    std::vector<MemoryTier> tiers;
    for (const TouchedTensor& tensor : option.touched()) tiers.push_back(tier_after(tensor.tensor));
    Choice choice{set.runs,         catalog_->liveness().targets(pass).optional(),
                  set.keeps,        std::move(in_place),
                  std::move(below), set.above,
                  std::move(next),  &catalog_->priced(option, tiers, configuration_.weights)};
    if (parts.lower) {
      const std::vector<MemoryTier> on_device(parts.lower->touched().size(), MemoryTier::device);
      choice.lower_shapes = &catalog_->priced(*parts.lower, on_device, configuration_.weights);
    }
    choice.beside_bytes = fixed_bytes_ + bytes_passing(frontier, set.passing);
    choice.again_seconds = set.again_seconds;
    choice.beside_seconds = set.exchange_seconds + catalog_->widening_seconds(option);
    if (configuration_.weights == WeightResidency::per_pass) {
      choice.beside_seconds += catalog_->costs().weights_seconds(option.parameter_bytes());
      if (parts.lower)
        choice.beside_lower_seconds = catalog_->costs().weights_seconds(parts.lower->parameter_bytes());
      choice.again_seconds += catalog_->costs().weights_seconds(set.again_weights_bytes);
    }
    list.push_back(std::move(choice));
  }
}

std::vector<Choice>& PlanSpace::choices(size_t pass, const Frontier& frontier) {
  const auto [known, is_new] = choices_[pass].try_emplace(frontier);
  if (!is_new) return known->second;
  for (const KeepSet& set : catalog_->keep_sets(pass, present_in(frontier), configuration_.above_latent_rows))
    add_choices(pass, frontier, set, known->second);
  return known->second;
}

}  // namespace headroom::planner
