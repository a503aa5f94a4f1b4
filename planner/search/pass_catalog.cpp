#include "planner/search/pass_catalog.h"

#include "decoder/operations/attention.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/transfers.h"

#include <algorithm>
#include <stdexcept>

namespace headroom::planner {
namespace {

/// The rank share that needs most memory: it has the most rows and, with more than two ranks, neighbours on
/// both sides if such a rank has as many rows.
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
      request_(request),
      costs_(costs),
      sizes_(sizes_for(graph_, request, micro_batch, ranks.count)),
      ranks_(ranks),
      liveness_(graph_, sizes_),
      kept_rows_(graph_, liveness_, sizes_) {
  if (costs.device().kind != request.device) throw std::logic_error("costs of another kind of device");
  find_sizes();
  keep_sets_.resize(passes());
  works_.resize(passes());
  working_.resize(passes());
}

std::vector<KeepSet> PassCatalog::find_keep_sets(size_t pass, const std::vector<TensorId>& present) {
  const std::vector<TensorId> free_choice = liveness_.creatable(pass, present);
  std::vector<KeepSet> sets;
  for (size_t subset = 0; subset < size_t{1} << free_choice.size(); ++subset) {
    KeepSet set;
    set.keeps = liveness_.targets(pass).kept;
    for (size_t i = 0; i < free_choice.size(); ++i) {
      if (subset >> i & 1) set.keeps.push_back(free_choice[i]);
    }
    set.at_cut_point = liveness_.targets(pass).optional();
    set.runs = !set.at_cut_point || !set.keeps.empty();
    if (complete(pass, present, set)) sets.push_back(std::move(set));
  }
  return sets;
}

bool PassCatalog::complete(size_t pass, const std::vector<TensorId>& present, KeepSet& set) {
  TensorSet kept = liveness_.set_of(present);
  for (TensorId id : set.keeps) kept.insert(id);
  const TensorSet reached = liveness_.read_after(pass, kept);
  const bool useless =
      std::any_of(set.keeps.begin(), set.keeps.end(), [&](TensorId id) { return !reached.contains(id); });
  if (useless || liveness_.too_far_back(pass, reached, kept)) return false;
  set.next = liveness_.kept_of(reached, kept);
  for (OpId op : liveness_.again(pass, reached, kept)) {
    set.recompute_seconds += op_least_seconds_[index(op)];
    set.recompute_weights_bytes += op_weights_bytes_[index(op)];
  }
  set.exchange_seconds = exchange_seconds(pass, set);
  std::vector<TensorUse> touched = touched_by(pass, present, set);
  // Untouched tensors stay live. Only a result of this pass could replace one, and computing that result
  // would read it.
  set.passing = present;
  std::erase_if(set.passing, [&](TensorId id) {
    return id == graph_.input() || std::any_of(touched.begin(), touched.end(),
                                               [&](const TensorUse& use) { return use.tensor == id; });
  });
  set.work = &*works_[pass].try_emplace(std::move(touched)).first;
  return true;
}

std::vector<TensorUse> PassCatalog::touched_by(size_t pass, const std::vector<TensorId>& present,
                                               KeepSet& set) const {
  const TensorSet available = liveness_.set_of(present);
  const TensorSet needed = liveness_.needed_by(pass, set.keeps, available);
  if (set.runs) {
    for (OpId op : liveness_.targets(pass).statistics) set.least_seconds += op_least_seconds_[index(op)];
    for (OpId op : liveness_.run_for(needed, available)) set.least_seconds += op_least_seconds_[index(op)];
  }
  std::vector<TensorUse> touched;
  for (TensorId id : liveness_.read_of(needed, available))
    touched.push_back({.tensor = id, .leaves = !contains(set.next, id)});
  for (TensorId id : set.keeps) touched.push_back({.tensor = id, .written = true});
  return touched;
}

const PassWork& PassCatalog::work(size_t pass, const std::vector<TensorId>& present, const KeepSet& set) {
  PassWork& work = set.work->second;
  if (!work.options.empty()) return work;
  const std::vector<bool> available = liveness_.available(pass, present);
  const PassGoal goal = goal_of(liveness_.targets(pass), {.keeps = set.keeps}, sizes_);
  Pass lowered;
  if (set.runs) lowered = lower_pass(graph_, available, goal);
  for (TensorId id : set.keeps) {
    const TensorId base = in_place_base(graph_, available, lowered, id);
    if (base != TensorId{-1} && !contains(set.next, base)) work.takeovers.push_back({id, base});
  }
  work.options[{}] = option_of(pass, available, lowered, goal, set.work->first);
  return work;
}

WorkingBytes& PassCatalog::working_bytes(size_t pass, const Pass& lowered) {
  std::deque<WorkingBytes>& list = working_[pass];
  const auto known = std::find_if(list.begin(), list.end(),
                                  [&](const WorkingBytes& other) { return other.has_steps_of(lowered); });
  return known != list.end() ? *known : list.emplace_back(graph_, costs_, sizes_, lowered);
}

std::unique_ptr<PassOption> PassCatalog::option_of(size_t pass, const std::vector<bool>& available,
                                                   const Pass& lowered, const PassGoal& goal,
                                                   const std::vector<TensorUse>& touched) {
  auto option = std::make_unique<PassOption>(working_bytes(pass, lowered), kept_rows_, touched);
  const std::optional<PassGoal> other = alternative_to(graph_, goal, lowered, sizes_);
  if (!other) return option;
  WorkingBytes& working = working_bytes(pass, lower_pass(graph_, available, *other));
  auto alternative = std::make_unique<PassOption>(working, kept_rows_, touched);
  if (alternative->heights() > 0) option->set_alternative(std::move(alternative));
  return option;
}

const PassOption& PassCatalog::option(size_t pass, const std::vector<TensorId>& present, const KeepSet& set,
                                      const std::vector<TensorId>& in_place) {
  PassWork& work = set.work->second;
  std::unique_ptr<PassOption>& option = work.options[in_place];
  if (option) return *option;
  std::vector<TensorUse> touched = set.work->first;
  for (TensorUse& use : touched) {
    // The tensor that takes over these blocks stays in them.
    const bool replaced =
        std::any_of(work.takeovers.begin(), work.takeovers.end(), [&](const auto& takeover) {
          return takeover.base == use.tensor && contains(in_place, takeover.target);
        });
    if (replaced) use = {.tensor = use.tensor};
  }
  const std::vector<bool> available = liveness_.available(pass, present);
  const PassGoal goal = goal_of(liveness_.targets(pass), {.keeps = set.keeps, .in_place = in_place}, sizes_);
  option = option_of(pass, available, lower_pass(graph_, available, goal), goal, touched);
  return *option;
}

TileChoice& PassCatalog::priced(const PassOption& option, const std::vector<MemoryTier>& tiers,
                                WeightResidency residency) {
  const std::tuple key(&option, tiers, residency);
  const auto known = priced_.find(key);
  if (known != priced_.end()) return known->second;
  return priced_.emplace(key, TileChoice(option, orders_[&option], tiers, residency)).first->second;
}

std::vector<std::vector<TensorId>> PassCatalog::movable(size_t pass,
                                                        const std::vector<TensorId>& keeps) const {
  const std::vector<TensorId>& whole = liveness_.targets(pass).kept;
  std::vector<std::vector<TensorId>> groups;
  for (TensorId id : keeps) {
    if (!contains(whole, id)) {
      groups.push_back({id});
      continue;
    }
    for (OpId of : graph_.readers(id)) {
      const Op& reader = graph_.op(of);
      if (!takes_keys_by_block(graph_, reader) || reader.inputs[1] != id) continue;
      groups.push_back({id});
      if (reader.inputs[2] != id) groups.back().push_back(reader.inputs[2]);
      break;
    }
  }
  return groups;
}

/// Finds the parameter bytes and least seconds of every operation, and the block bytes of every tensor if it
/// were kept.
void PassCatalog::find_sizes() {
  for (size_t i = 0; i < graph_.ops().size(); ++i) {
    op_weights_bytes_.push_back(
        weights_bytes(graph_, graph_.ops()[i], ConvolutionAlgorithm::direct, sizes_.storage()));
    op_least_seconds_.push_back(costs_.least_seconds(OpId{static_cast<int32_t>(i)}, sizes_));
  }
  bytes_if_kept_.assign(graph_.tensors().size(), 0);
  for (size_t t = 0; t < bytes_if_kept_.size(); ++t) {
    TensorUse entry;
    entry.tensor = TensorId{static_cast<int32_t>(t)};
    if (graph_.tensor(entry.tensor).statistics) continue;
    entry.rows = kept_rows_.of(entry.tensor);
    entry.block_rows = block_rows(graph_, entry, sizes_, costs_.memory().block_bytes);
    bytes_if_kept_[t] = headroom::kept_bytes(graph_, entry, sizes_);
  }
}

double PassCatalog::least_handover_seconds(size_t pass) const {
  double seconds = 0;
  for (TensorId id : liveness_.read_by_later_passes(pass)) {
    double least = costs_.least_store_seconds(id, sizes_);
    if (!contains(liveness_.targets(pass).kept, id)) {
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
    const Step step{.kind = graph_.op(id).kind, .op = id};
    values += statistics_values(graph_, step, sizes_);
  }
  for (TensorId id : set.keeps) bytes += kept_rows_.awaited_bytes(id);
  return gather_seconds(values, ranks_) + message_seconds(double(bytes), ranks_.link);
}

const std::vector<KeepSet>& PassCatalog::keep_sets(size_t pass, const std::vector<TensorId>& present) {
  const auto [sets, unseen] = keep_sets_[pass].try_emplace(present);
  if (unseen) sets->second = find_keep_sets(pass, present);
  return sets->second;
}

}  // namespace headroom::planner
