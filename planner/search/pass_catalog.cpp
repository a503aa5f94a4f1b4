#include "planner/search/pass_catalog.h"

#include "decoder/lowering/attention.h"
#include "decoder/lowering/blocks.h"
#include "decoder/lowering/rank_rows.h"
#include "decoder/lowering/ranked_plan.h"
#include "decoder/lowering/weights_bytes.h"

#include <algorithm>
#include <stdexcept>

namespace headroom::planner {
namespace {

/// The share that needs most: the most rows, and others on both sides where there are so many ranks.
RankShare largest_share(int64_t latent_rows, int32_t ranks) {
  const std::vector<Interval> shares = share_rows(latent_rows, ranks);
  const int32_t rank = ranks > 2 && shares[1].length() == shares[0].length() ? 1 : 0;
  return {rank, ranks, shares[static_cast<size_t>(rank)]};
}

Sizes sizes_for(const Graph& graph, const Request& request, int64_t micro_batch, int32_t ranks) {
  Plan plan;
  plan.request = request;
  plan.micro_batch = micro_batch;
  plan.share = largest_share(sizes_of(graph, plan).latent.y, ranks);
  return sizes_of(graph, plan);
}

}  // namespace

PassCatalog::PassCatalog(const Model& model, const Request& request, int64_t micro_batch,
                         const CostModel& costs, const Ranks& ranks)
    : graph_(model.graph),
      costs_(costs),
      sizes_(sizes_for(graph_, request, micro_batch, ranks.count)),
      ranks_(ranks),
      liveness_(graph_, sizes_),
      stored_rows_(graph_, liveness_, sizes_) {
  if (costs.device() != request.device) throw std::logic_error("costs of another kind of device");
  find_sizes();
  keep_sets_.resize(passes());
  works_.resize(passes());
}

std::vector<KeepSet> PassCatalog::find_keep_sets(size_t pass, const std::vector<TensorId>& present) {
  const TensorSet available = liveness_.set_of(present);
  const std::vector<TensorId> free_choice = liveness_.creatable(pass, present);
  std::vector<KeepSet> sets;
  for (size_t subset = 0; subset < size_t{1} << free_choice.size(); ++subset) {
    KeepSet set;
    set.keeps = liveness_.targets(pass).whole;
    for (size_t i = 0; i < free_choice.size(); ++i) {
      if (subset >> i & 1) set.keeps.push_back(free_choice[i]);
    }
    set.runs = !liveness_.targets(pass).optional() || !set.keeps.empty();
    TensorSet after = available;
    for (TensorId id : set.keeps) after.insert(id);
    const TensorSet reached = liveness_.read_after(pass, after);
    const bool useless =
        std::any_of(set.keeps.begin(), set.keeps.end(), [&](TensorId id) { return !reached.contains(id); });
    if (useless || liveness_.too_far_back(pass, reached, after)) continue;
    set.next = liveness_.materialised_of(reached, after);
    for (OpId op : liveness_.again(pass, reached, after)) {
      set.again_seconds += op_least_seconds_[index(op)];
      set.again_weights_bytes += op_weights_bytes_[index(op)];
    }
    set.exchange_seconds = exchange_seconds(pass, set);
    // What the pass does not read stays: only what it makes could stand in for it, and that is made of it.
    const std::vector<TensorId> read = liveness_.read_by(pass, set.keeps, available);
    for (TensorId id : present) {
      if (id != graph_.latent() && !contains(read, id)) set.passing.push_back(id);
    }
    set.work = &work_of(pass, present, set, read);
    sets.push_back(std::move(set));
  }
  return sets;
}

PassWork& PassCatalog::work_of(size_t pass, const std::vector<TensorId>& present, const KeepSet& set,
                               const std::vector<TensorId>& read) {
  std::vector<TouchedTensor> key;
  key.reserve(read.size() + set.keeps.size());
  for (TensorId id : read) key.push_back({id, false, !contains(set.next, id)});
  for (TensorId id : set.keeps) key.push_back({id, true, false});
  const auto [entry, is_new] = works_[pass].try_emplace(key);
  PassWork& work = entry->second;
  if (!is_new) return work;
  const std::vector<bool> materialised = liveness_.available(pass, present);
  Pass lowered;
  if (set.runs)
    lowered =
        lower_pass(graph_, materialised, goal_of(liveness_.targets(pass), {.keeps = set.keeps}, sizes_));
  for (TensorId id : set.keeps) {
    const TensorId base = in_place_base(graph_, materialised, lowered, id);
    if (base != TensorId{-1} && !contains(set.next, base)) work.takeovers.push_back({id, base});
  }
  work.options[{}] = option_of(std::move(lowered), std::move(key));
  return work;
}

std::unique_ptr<PassOption> PassCatalog::option_of(Pass lowered, std::vector<TouchedTensor> touched) const {
  return std::make_unique<PassOption>(graph_, costs_, stored_rows_, sizes_, std::move(lowered),
                                      std::move(touched));
}

const PassOption& PassCatalog::option(size_t pass, const std::vector<TensorId>& present, const KeepSet& set,
                                      const std::vector<TensorId>& in_place) {
  std::unique_ptr<PassOption>& option = set.work->options[in_place];
  if (option) return *option;
  std::vector<TouchedTensor> touched = set.work->options.at({})->touched();
  for (TouchedTensor& tensor : touched) {
    // The tensor that takes its blocks over stays in them.
    const bool replaced = std::any_of(
        set.work->takeovers.begin(), set.work->takeovers.end(), [&](const PassWork::Takeover& takeover) {
          return takeover.base == tensor.tensor && contains(in_place, takeover.target);
        });
    if (replaced) tensor.leaves = false;
  }
  const PassGoal goal = goal_of(liveness_.targets(pass), {.keeps = set.keeps, .in_place = in_place}, sizes_);
  option = option_of(lower_pass(graph_, liveness_.available(pass, present), goal), std::move(touched));
  return *option;
}

TileChoice& PassCatalog::priced(const PassOption& option, const std::vector<MemoryTier>& tiers,
                                WeightResidency residency) {
  const std::tuple key(&option, tiers, residency);
  const auto known = priced_.find(key);
  if (known != priced_.end()) return known->second;
  return priced_.emplace(key, TileChoice(option, tiers, residency)).first->second;
}

std::vector<std::vector<TensorId>> PassCatalog::movable(size_t pass,
                                                        const std::vector<TensorId>& keeps) const {
  const std::vector<TensorId>& whole = liveness_.targets(pass).whole;
  std::vector<std::vector<TensorId>> groups;
  for (TensorId id : keeps) {
    if (!contains(whole, id)) {
      groups.push_back({id});
      continue;
    }
    const Op& reader = graph_.op(graph_.readers(id).front());
    if (takes_keys_by_block(graph_, reader) && reader.inputs[1] == id)
      groups.push_back({id, reader.inputs[2]});
  }
  return groups;
}

/// What every operation's parameters take and the operation itself at the least; every tensor's blocks, were
/// it materialised.
void PassCatalog::find_sizes() {
  for (size_t i = 0; i < graph_.ops().size(); ++i) {
    op_weights_bytes_.push_back(
        weights_bytes(graph_, graph_.ops()[i], ConvolutionAlgorithm::direct, sizes_.storage()));
    op_least_seconds_.push_back(costs_.least_seconds(OpId{static_cast<int32_t>(i)}, sizes_));
  }
  stored_bytes_.assign(graph_.tensors().size(), 0);
  for (size_t t = 0; t < stored_bytes_.size(); ++t) {
    Materialised entry;
    entry.tensor = TensorId{static_cast<int32_t>(t)};
    if (graph_.tensor(entry.tensor).statistics) continue;
    entry.rows = stored_rows_.of(entry.tensor);
    entry.block_rows = block_rows(stored_rows(graph_, entry, sizes_).length(),
                                  row_bytes(graph_, entry.tensor, sizes_), costs_.memory().block_bytes);
    stored_bytes_[t] = materialised_bytes(graph_, entry, sizes_);
  }
}

double PassCatalog::least_handover_seconds(size_t pass) const {
  double seconds = 0;
  for (TensorId id : liveness_.handed_on(pass)) {
    double least = costs_.least_store_seconds(id, sizes_);
    if (!contains(liveness_.targets(pass).whole, id)) {
      least = std::min(least, costs_.least_seconds(graph_.tensor(id).producer, sizes_));
    }
    seconds += least;
  }
  return seconds;
}

double PassCatalog::exchange_seconds(size_t pass, const KeepSet& set) const {
  if (ranks_.alone()) return 0;
  int64_t values = 0, bytes = 0;
  for (OpId id : liveness_.targets(pass).statistics) {
    const Step step{.kind = traits_of(graph_.op(id).kind).step, .op = id};
    values += statistics_values(graph_, step, sizes_);
  }
  for (TensorId id : set.keeps) bytes += stored_rows_.awaited_bytes(id);
  return gather_seconds(values, ranks_) + message_seconds(double(bytes), ranks_.link);
}

std::vector<KeepSet>& PassCatalog::keep_sets(size_t pass, const std::vector<TensorId>& present) {
  const auto [sets, unseen] = keep_sets_[pass].try_emplace(present);
  if (unseen) sets->second = find_keep_sets(pass, present);
  return sets->second;
}

}  // namespace headroom::planner
