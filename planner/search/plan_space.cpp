#include "planner/search/plan_space.h"

#include "decoder/schedule/storage.h"

#include <algorithm>

namespace headroom::planner {
namespace {

MemoryTier tier_of(const Frontier& frontier, TensorId id) {
  const auto found =
      std::find_if(frontier.begin(), frontier.end(), [&](const Residence& r) { return r.tensor == id; });
  return found == frontier.end() ? MemoryTier::device : found->tier;
}

std::vector<TensorId> tensors_in(const Frontier& frontier) {
  std::vector<TensorId> tensors;
  for (const Residence& residence : frontier) tensors.push_back(residence.tensor);
  return tensors;
}

}  // namespace

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
                 reserve_bytes(graph, sizes, costs.memory()) + picture_bytes(graph, catalog_->request());
  if (!per_pass) {
    const int64_t weights = resident_weights_bytes(graph, sizes.storage());
    fixed_bytes_ += allocated_bytes(weights, sizes);
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
  states_.resize(passes() + 1);
  start_ = &state_of(0, {{TensorId{0}, MemoryTier::device}});
}

State& PlanSpace::state_of(size_t pass, Frontier frontier) {
  std::map<Frontier, State>& known = states_[pass];
  const auto [entry, is_new] = known.try_emplace(std::move(frontier));
  if (is_new) {
    entry->second.pass = pass;
    entry->second.number = known.size() - 1;
    entry->second.frontier = &entry->first;
    entry->second.device_bytes = fixed_bytes_ + bytes_on_device(entry->first);
  }
  return entry->second;
}

/// Bytes in the lower tier while a pass runs: tensors already there, plus `below`.
int64_t PlanSpace::bytes_below(const Frontier& frontier, const std::vector<TensorId>& below) const {
  int64_t sum = 0;
  for (const Residence& residence : frontier)
    sum += residence.tier != MemoryTier::device ? catalog_->kept_bytes(residence.tensor) : 0;
  for (TensorId id : below) sum += catalog_->kept_bytes(id);
  return sum;
}

int64_t PlanSpace::bytes_on_device(const Frontier& frontier, const std::vector<TensorId>& tensors) const {
  int64_t sum = 0;
  for (TensorId id : tensors) {
    if (tier_of(frontier, id) == MemoryTier::device) sum += catalog_->kept_bytes(id);
  }
  return sum;
}

int64_t PlanSpace::bytes_on_device(const Frontier& frontier) const {
  std::vector<TensorId> tensors = tensors_in(frontier);
  std::erase(tensors, catalog_->graph().input());
  return bytes_on_device(frontier, tensors);
}

/// Memory tier of a tensor after the pass.
MemoryTier PlanSpace::tier_after(const Frontier& frontier, const KeepSet& set,
                                 const std::vector<TensorId>& below, TensorId id) const {
  if (!contains(set.keeps, id)) return tier_of(frontier, id);
  return contains(below, id) ? *configuration_.lower_tier : MemoryTier::device;
}

Frontier PlanSpace::frontier_after(const Frontier& frontier, const KeepSet& set,
                                   const std::vector<TensorId>& below) const {
  Frontier next;
  next.reserve(set.next.size());
  for (TensorId id : set.next) next.push_back({id, tier_after(frontier, set, below, id)});
  std::sort(next.begin(), next.end());
  return next;
}

void PlanSpace::add_choices(const State& state, const KeepSet& set, std::vector<Choice>& list) {
  const Frontier& frontier = *state.frontier;
  const size_t pass = state.pass;
  std::vector<std::vector<TensorId>> movable;
  if (configuration_.lower_tier) movable = catalog_->movable(pass, set.keeps);
  for (size_t placing = 0; placing < size_t{1} << movable.size(); ++placing) {
    std::vector<TensorId> below;
    for (size_t i = 0; i < movable.size(); ++i) {
      if (placing >> i & 1) below.insert(below.end(), movable[i].begin(), movable[i].end());
    }
    if (configuration_.lower_tier && bytes_below(frontier, below) > configuration_.lower_limit_bytes)
      continue;
    State& next = state_of(pass + 1, frontier_after(frontier, set, below));
    Choice choice;
    choice.set = &set;
    choice.learned_seconds = set.least_seconds;
    choice.below = std::move(below);
    choice.next = &next;
    choice.beside_bytes = fixed_bytes_ + bytes_on_device(frontier, set.passing);
    choice.recompute_seconds = set.recompute_seconds;
    if (configuration_.weights == WeightResidency::per_pass)
      choice.recompute_seconds += catalog_->costs().weights_seconds(set.recompute_weights_bytes);
    list.push_back(std::move(choice));
  }
}

void PlanSpace::work_out(const State& state, Choice& choice) {
  if (choice.shapes != nullptr) return;
  const Frontier& frontier = *state.frontier;
  const std::vector<TensorId> present = tensors_in(frontier);
  const KeepSet& set = *choice.set;
  for (const PassWork::Takeover& takeover : catalog_->work(state.pass, present, set).takeovers) {
    if (tier_of(frontier, takeover.base) == MemoryTier::device && !contains(choice.below, takeover.target))
      choice.in_place.push_back(takeover.target);
  }
  const PassOption& option = catalog_->option(state.pass, present, set, choice.in_place);
  std::vector<MemoryTier> tiers;
  for (const TensorUse& tensor : option.touched())
    tiers.push_back(tier_after(frontier, set, choice.below, tensor.tensor));
  choice.shapes = &catalog_->priced(option, tiers, configuration_.weights);
  choice.beside_seconds = set.exchange_seconds + catalog_->widening_seconds(option);
  if (configuration_.weights == WeightResidency::per_pass)
    choice.beside_seconds += catalog_->costs().weights_seconds(option.parameter_bytes());
}

std::vector<Choice>& PlanSpace::choices(State& state) {
  if (state.choices) return *state.choices;
  std::vector<Choice>& list = state.choices.emplace();
  for (const KeepSet& set : catalog_->keep_sets(state.pass, tensors_in(*state.frontier)))
    add_choices(state, set, list);
  return list;
}

void PlanSpace::begin_search(int64_t limit_bytes) {
  if (limit_bytes <= learned_limit_bytes_) return;
  for (std::map<Frontier, State>& of_pass : states_) {
    for (auto& [frontier, state] : of_pass) {
      state.learned_seconds = 0;
      if (!state.choices) continue;
      for (Choice& choice : *state.choices) choice.learned_seconds = choice.set->least_seconds;
    }
  }
  learned_limit_bytes_ = std::numeric_limits<int64_t>::max();
  learned_limit_was_binding_ = false;
}

void PlanSpace::end_search(int64_t limit_bytes, bool limit_was_binding) {
  learned_limit_bytes_ = std::min(learned_limit_bytes_, limit_bytes);
  learned_limit_was_binding_ = learned_limit_was_binding_ || limit_was_binding;
}

}  // namespace headroom::planner
