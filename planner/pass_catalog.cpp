#include "planner/pass_catalog.h"

#include <algorithm>

namespace headroom {
namespace {

/// How many barriers a pass may recompute across. More never paid in any plan seen, and the bound keeps the number of
/// frontiers small.
constexpr int32_t kDeepestRecompute = 8;
constexpr size_t kMostCreatable = 8;

bool contains(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

bool pointwise(const Op& op) {
  return op.kind == OpKind::add || op.kind == OpKind::norm ||
         (op.kind == OpKind::conv && op.kernel == Axes<int32_t>{1, 1, 1});
}

}  // namespace

PassCatalog::PassCatalog(const Model& model, const Request& request, int64_t slice, const CostModel& costs)
    : graph_(model.graph), costs_(costs), targets_(barrier_targets(graph_)), tensor_depths_(barrier_depths(graph_)) {
  Plan plan;
  plan.request = request;
  plan.slice = slice;
  sizes_ = sizes_of(graph_, plan);
  for (const BarrierTargets& targets : targets_) {
    const TensorId any = !targets.statistics.empty() ? graph_.op(targets.statistics[0]).inputs[0]
                         : !targets.whole.empty()    ? targets.whole[0]
                                                     : graph_.output();
    pass_depths_.push_back(tensor_depths_[index(any)]);
    names_.push_back(graph_.tensor(any).name);
  }
  find_candidates();
  find_demands();
  find_own_operations();
  find_stored_bytes();
  keep_sets_.resize(targets_.size());
  works_.resize(targets_.size());
}

/// Leaves out tensors that another candidate always serves better.
void PassCatalog::find_candidates() {
  const auto bytes = [&](TensorId id) { return bytes_of(graph_.tensor(id), sizes_.latent, 1, sizes_.dtype); };
  for (size_t t = 1; t < graph_.tensors().size(); ++t) {
    const TensorId id{static_cast<int32_t>(t)};
    const Op& producer = *graph_.producer(id);
    const bool cheap = producer.kind == OpKind::norm || producer.kind == OpKind::upsample;
    if (graph_.tensor(id).statistics || id == graph_.output() || cheap) continue;
    const std::vector<OpId>& readers = graph_.readers(id);
    const bool read_whole = std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
      const Op& op = graph_.op(reader);
      return op.kind == OpKind::statistics || (op.kind == OpKind::attention && op.inputs[0] != id);
    });
    if (readers.size() == 1) {
      // The result that its only reader makes at once is no larger: keep that one instead.
      const Op& reader = graph_.op(readers[0]);
      const bool at_once = tensor_depths_[index(reader.output)] == tensor_depths_[t];
      if (pointwise(reader) && at_once && bytes(reader.output) <= bytes(id)) continue;
    }
    if (!read_whole && pointwise(producer) && producer.kind != OpKind::add && bytes(id) >= bytes(producer.inputs[0])) {
      continue;  // recomputed position by position from something no larger
    }
    candidates_.push_back(id);
  }
  is_candidate_.assign(graph_.tensors().size(), false);
  for (TensorId id : candidates_) is_candidate_[index(id)] = true;
  // Readers come after what they read.
  last_read_ = tensor_depths_;
  for (size_t i = graph_.ops().size(); i-- > 0;) {
    const Op& op = graph_.ops()[i];
    const int32_t read = is_candidate_[index(op.output)] ? tensor_depths_[index(op.output)] : last_read_[index(op.output)];
    for (TensorId input : op.inputs) last_read_[index(input)] = std::max(last_read_[index(input)], read);
  }
}

/// What a pass cannot do without: everything between its targets and the nearest tensors that earlier passes can have kept.
void PassCatalog::find_own_operations() {
  std::vector<bool> somewhere(graph_.ops().size(), false);
  own_operations_.resize(targets_.size());
  for (size_t pass = 0; pass < targets_.size(); ++pass) {
    std::vector<bool> needed(graph_.tensors().size(), false);
    std::vector<OpId>& own = own_operations_[pass];
    for (OpId op : targets_[pass].statistics) {
      needed[index(graph_.op(op).inputs[0])] = true;
      own.push_back(op);
    }
    for (TensorId id : targets_[pass].whole) needed[index(id)] = true;
    if (targets_[pass].emits) needed[index(graph_.output())] = true;
    for (size_t t = graph_.tensors().size(); t-- > 1;) {
      const bool kept_before = is_candidate_[t] && tensor_depths_[t] < pass_depths_[pass];
      if (!needed[t] || kept_before || graph_.tensors()[t].statistics) continue;
      const OpId op = graph_.tensors()[t].producer;
      own.push_back(op);
      for (size_t k = 0; k < graph_.op(op).inputs.size(); ++k) {
        if (!is_barrier(graph_.op(op), k)) needed[index(graph_.op(op).inputs[k])] = true;
      }
    }
    for (OpId op : own) somewhere[index(op)] = true;
  }
  // Some pass must run the others as well; which one is open, but none before their inputs are there.
  for (size_t i = 0; i < graph_.ops().size(); ++i) {
    if (somewhere[i]) continue;
    const int32_t depth = tensor_depths_[index(graph_.ops()[i].output)];
    for (size_t pass = 0; pass < targets_.size(); ++pass) {
      if (pass_depths_[pass] == depth) own_operations_[pass].push_back(OpId{static_cast<int32_t>(i)});
    }
  }
}

std::vector<bool> PassCatalog::flags(size_t pass, const std::vector<TensorId>& present) const {
  std::vector<bool> kept(graph_.tensors().size(), false);
  for (TensorId id : present) kept[index(id)] = true;
  for (size_t earlier = 0; earlier < pass; ++earlier) {
    for (OpId op : targets_[earlier].statistics) kept[index(graph_.op(op).output)] = true;
  }
  return kept;
}

void PassCatalog::find_demands() {
  for (size_t pass = 0; pass < targets_.size(); ++pass) {
    std::vector<bool> reached(graph_.tensors().size(), false);
    for (size_t later = pass + 1; later < targets_.size(); ++later) {
      for (OpId op : targets_[later].statistics) reached[index(graph_.op(op).inputs[0])] = true;
      for (TensorId id : targets_[later].whole) reached[index(id)] = true;
      if (targets_[later].emits) reached[index(graph_.output())] = true;
    }
    size_t deepest = 1;
    for (size_t t = graph_.tensors().size(); t-- > 1;) {
      const bool deeper = tensor_depths_[t] > pass_depths_[pass];
      if (!deeper) deepest = std::max(deepest, t + 1);
      if (!reached[t] || graph_.tensors()[t].statistics || !deeper) continue;
      for (TensorId input : graph_.producer(TensorId{static_cast<int32_t>(t)})->inputs) reached[index(input)] = true;
      reached[t] = false;  // not there yet, so it cannot be kept
    }
    demands_.push_back(std::move(reached));
    deepest_.push_back(deepest);
  }
}

std::vector<bool> PassCatalog::read_after(size_t pass, const std::vector<bool>& kept) const {
  std::vector<bool> reached = demands_[pass];
  for (size_t t = deepest_[pass]; t-- > 1;) {
    if (!reached[t] || graph_.tensors()[t].statistics || kept[t]) continue;
    for (TensorId input : graph_.producer(TensorId{static_cast<int32_t>(t)})->inputs) reached[index(input)] = true;
  }
  return reached;
}

std::vector<TensorId> PassCatalog::kept_of(const std::vector<bool>& reached, const std::vector<bool>& kept) const {
  std::vector<TensorId> list;
  for (size_t t = 0; t < reached.size(); ++t) {
    if (reached[t] && (kept[t] || t == 0) && !graph_.tensors()[t].statistics) list.push_back(TensorId{static_cast<int32_t>(t)});
  }
  return list;
}

bool PassCatalog::too_far_back(size_t pass, const std::vector<bool>& reached, const std::vector<bool>& kept) const {
  if (pass + 1 == targets_.size()) return false;
  return std::any_of(candidates_.begin(), candidates_.end(), [&](TensorId id) {
    return reached[index(id)] && !kept[index(id)] && tensor_depths_[index(id)] + kDeepestRecompute < pass_depths_[pass + 1];
  });
}

std::vector<TensorId> PassCatalog::creatable(size_t pass, const std::vector<TensorId>& present) const {
  const int32_t depth = pass_depths_[pass];
  std::vector<TensorId> list;
  std::vector<bool> kept = flags(pass, present);
  for (TensorId id : candidates_) {
    const int32_t own = tensor_depths_[index(id)];
    if (own > depth || own + 1 < depth || contains(present, id) || contains(targets_[pass].whole, id)) continue;
    kept[index(id)] = true;
    if (read_after(pass, kept)[index(id)]) list.push_back(id);
    kept[index(id)] = false;
  }
  if (list.size() > kMostCreatable) {
    // What is read too far ahead to be recomputed there must be kept; of the others the latest are those that passes
    // ahead read first.
    std::stable_partition(list.begin(), list.end(), [&](TensorId id) {
      return last_read_[index(id)] <= tensor_depths_[index(id)] + kDeepestRecompute;
    });
    list.erase(list.begin(), list.end() - kMostCreatable);
    std::sort(list.begin(), list.end());
  }
  return list;
}

std::vector<TensorId> PassCatalog::read_by(size_t pass, const std::vector<TensorId>& keeps, const std::vector<bool>& kept) const {
  std::vector<bool> needed(graph_.tensors().size(), false);
  for (OpId op : targets_[pass].statistics) needed[index(graph_.op(op).inputs[0])] = true;
  for (TensorId id : keeps) needed[index(id)] = true;
  if (targets_[pass].emits) needed[index(graph_.output())] = true;
  std::vector<TensorId> read;
  for (size_t t = deepest_[pass]; t-- > 1;) {
    if (!needed[t] || graph_.tensors()[t].statistics) continue;
    const TensorId id{static_cast<int32_t>(t)};
    if (kept[t]) {
      read.push_back(id);
      continue;
    }
    for (TensorId input : graph_.producer(id)->inputs) needed[index(input)] = true;
  }
  std::reverse(read.begin(), read.end());
  return read;
}

std::vector<KeepSet> PassCatalog::find_keep_sets(size_t pass, const std::vector<TensorId>& present) {
  const std::vector<bool> available = flags(pass, present);
  const std::vector<TensorId> free_choice = creatable(pass, present);
  std::vector<KeepSet> sets;
  for (size_t subset = 0; subset < size_t{1} << free_choice.size(); ++subset) {
    KeepSet set;
    set.keeps = targets_[pass].whole;
    for (size_t i = 0; i < free_choice.size(); ++i) {
      if (subset >> i & 1) set.keeps.push_back(free_choice[i]);
    }
    std::vector<bool> after = available;
    for (TensorId id : set.keeps) after[index(id)] = true;
    const std::vector<bool> reached = read_after(pass, after);
    set.next = kept_of(reached, after);
    const bool useless = std::any_of(set.keeps.begin(), set.keeps.end(), [&](TensorId id) { return !contains(set.next, id); });
    if (useless || too_far_back(pass, reached, after)) continue;
    // What it does not read and nothing later does either is dropped here; the rest stays.
    std::vector<TensorId> touched = read_by(pass, set.keeps, available);
    for (TensorId id : present) {
      if (id == graph_.latent() || contains(touched, id)) continue;
      (contains(set.next, id) ? set.passing : touched).push_back(id);
    }
    set.work = &work_of(pass, available, set, touched);
    sets.push_back(std::move(set));
  }
  return sets;
}

PassWork& PassCatalog::work_of(size_t pass, const std::vector<bool>& kept, const KeepSet& set, const std::vector<TensorId>& touched) {
  std::vector<TouchedTensor> key;
  for (TensorId id : touched) key.push_back({id, false, !contains(set.next, id)});
  for (TensorId id : set.keeps) key.push_back({id, true, false});
  const auto [entry, is_new] = works_[pass].try_emplace(key);
  PassWork& work = entry->second;
  if (!is_new) return work;
  Pass lowered = lower_pass(graph_, kept, goal_of(targets_[pass], {.keeps = set.keeps}));
  for (TensorId id : set.keeps) {
    const TensorId base = in_place_base(graph_, kept, lowered, id);
    if (base != TensorId{-1} && !contains(set.next, base)) work.takeovers.push_back({id, base});
  }
  work.options[{}] = std::make_unique<PassOption>(graph_, costs_, sizes_, std::move(lowered), std::move(key));
  return work;
}

const PassOption& PassCatalog::option(size_t pass, const std::vector<TensorId>& present, const KeepSet& set,
                                      const std::vector<TensorId>& in_place) {
  std::unique_ptr<PassOption>& option = set.work->options[in_place];
  if (option) return *option;
  std::vector<TouchedTensor> touched = set.work->options.at({})->touched();
  for (TouchedTensor& tensor : touched) {
    // The tensor that takes its blocks over stays in them.
    const bool replaced = std::any_of(set.work->takeovers.begin(), set.work->takeovers.end(), [&](const PassWork::Takeover& takeover) {
      return takeover.base == tensor.tensor && contains(in_place, takeover.target);
    });
    if (replaced) tensor.leaves = false;
  }
  const PassGoal goal = goal_of(targets_[pass], {.keeps = set.keeps, .in_place = in_place});
  option = std::make_unique<PassOption>(graph_, costs_, sizes_, lower_pass(graph_, flags(pass, present), goal), std::move(touched));
  return *option;
}

bool PassCatalog::may_go_below(size_t pass, TensorId id) const { return !contains(targets_[pass].whole, id); }

/// Bytes of every tensor's blocks, were it kept.
void PassCatalog::find_stored_bytes() {
  stored_bytes_.assign(graph_.tensors().size(), 0);
  for (size_t t = 0; t < stored_bytes_.size(); ++t) {
    Kept entry;
    entry.tensor = TensorId{static_cast<int32_t>(t)};
    if (graph_.tensor(entry.tensor).statistics) continue;
    entry.block_rows = block_rows(graph_, entry.tensor, sizes_, costs_.memory().block_bytes);
    const int64_t block = allocated_bytes(entry.block_rows * row_bytes(graph_, entry.tensor, sizes_));
    stored_bytes_[t] = sizes_.items * block_count(graph_, entry, sizes_) * block;
  }
}

double PassCatalog::least_handover_seconds(size_t pass) const {
  double seconds = 0;
  std::vector<TensorId> handed = targets_[pass].whole;
  for (OpId id : targets_[pass].statistics) {
    const TensorId measured = graph_.op(id).inputs[0];
    const bool added = measured == graph_.latent() || graph_.producer(measured)->kind == OpKind::add;
    if (!added && !contains(handed, measured)) handed.push_back(measured);
  }
  for (TensorId id : handed) {
    double least = costs_.least_store_seconds(graph_, id, sizes_);
    if (!contains(targets_[pass].whole, id)) {
      least = std::min(least, costs_.least_seconds(graph_, graph_.tensor(id).producer, sizes_));
    }
    seconds += least;
  }
  return seconds;
}

std::vector<KeepSet>& PassCatalog::keep_sets(size_t pass, const std::vector<TensorId>& present) {
  const auto [sets, unseen] = keep_sets_[pass].try_emplace(present);
  if (unseen) sets->second = find_keep_sets(pass, present);
  return sets->second;
}

}  // namespace headroom
