#include "planner/search/liveness.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"

namespace headroom::planner {

namespace {

/// How many barriers a pass may recompute across. More never paid in any plan seen, and the bound keeps the
/// number of frontiers small.
constexpr int32_t kDeepestRecompute = 8;
constexpr size_t kMostCreatable = 8;

bool pointwise(const Op& op) {
  return operation(op.kind).pointwise || (op.kind == OpKind::conv && op.kernel == Axes<int32_t>{1, 1, 1});
}

TensorId tensor_id(size_t number) {
  return TensorId{static_cast<int32_t>(number)};
}

TensorSet goals_of(const Graph& graph, const BarrierTargets& targets) {
  TensorSet goals(graph.tensors().size());
  for (OpId op : targets.statistics) {
    for (TensorId input : graph.op(op).inputs) goals.insert(input);
  }
  for (TensorId id : targets.kept) goals.insert(id);
  if (targets.emits) goals.insert(graph.output());
  return goals;
}

}  // namespace

PassLiveness::PassLiveness(const Graph& graph, const Sizes& sizes)
    : graph_(graph),
      targets_(barrier_targets(graph)),
      tensor_depths_(barrier_depths(graph)),
      is_candidate_(graph.tensors().size()),
      is_always_kept_(graph.tensors().size()),
      statistics_(graph.tensors().size()) {
  std::vector<bool> measured(graph_.tensors().size(), false);
  for (const BarrierTargets& targets : targets_) {
    pass_depths_.push_back(tensor_depths_[index(any_target(graph_, targets))]);
    for (TensorId id : targets.kept) is_always_kept_.insert(id);
    goals_.push_back(goals_of(graph_, targets));
    measured_.push_back(measured);
    for (OpId op : targets.statistics) measured[index(graph_.op(op).output)] = true;
  }
  for (size_t t = 0; t < graph_.tensors().size(); ++t) {
    if (graph_.tensors()[t].statistics) statistics_.insert(tensor_id(t));
  }
  find_candidates(sizes);
  find_last_reads();
  find_demands();
  find_own_operations();
  find_masks();
}

/// Excludes a tensor if keeping another candidate is at least as good, or if it is cheap to recompute from
/// one. This keeps the number of frontiers small.
void PassLiveness::find_candidates(const Sizes& sizes) {
  std::vector<int64_t> all_bytes;
  for (const Tensor& tensor : graph_.tensors())
    all_bytes.push_back(bytes_of(tensor, sizes.latent, 1, sizes.dtype));
  std::vector<int32_t> optional_depths;
  for (size_t pass = 0; pass < passes(); ++pass) {
    if (targets_[pass].optional()) optional_depths.push_back(pass_depths_[pass]);
  }
  for (size_t t = 1; t < graph_.tensors().size(); ++t) {
    const TensorId id = tensor_id(t);
    if (statistics_.contains(id) || id == graph_.output()) continue;
    if (std::find(optional_depths.begin(), optional_depths.end(), tensor_depths_[t]) !=
        optional_depths.end()) {
      if (graph_.tensor(id).cut_point) is_candidate_.insert(id);
      continue;
    }
    if (is_recomputed(id, all_bytes)) continue;
    const std::vector<OpId>& readers = graph_.readers(id);
    if (readers.size() == 1) {
      // Its only reader runs in the same pass and its result is no larger. Keep that result instead.
      const Op& reader = graph_.op(readers[0]);
      const bool at_once = tensor_depths_[index(reader.output)] == tensor_depths_[t];
      if (pointwise(reader) && !operation(reader.kind).cheap && at_once &&
          all_bytes[index(reader.output)] <= all_bytes[t])
        continue;
    }
    if (stands_behind_another(id, all_bytes)) continue;
    is_candidate_.insert(id);
  }
  candidates_ = is_candidate_.members();
}

bool PassLiveness::is_recomputed(TensorId id, const std::vector<int64_t>& bytes) const {
  const Op& producer = *graph_.producer(id);
  if (operation(producer.kind).cheap) return true;
  const std::vector<OpId>& readers = graph_.readers(id);
  const bool read_whole = std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
    const Op& op = graph_.op(reader);
    return op.kind == OpKind::statistics || (op.kind == OpKind::attention && op.inputs[0] != id);
  });
  return !read_whole && pointwise(producer) && producer.kind != OpKind::add &&
         bytes[index(id)] >= bytes[index(producer.inputs[0])];
}

bool PassLiveness::read_deeper_around(TensorId id, TensorId around) const {
  std::vector<TensorId> open{id}, seen;
  while (!open.empty()) {
    const TensorId here = open.back();
    open.pop_back();
    for (OpId reader : graph_.readers(here)) {
      const TensorId made = graph_.op(reader).output;
      if (made == around || contains(seen, made)) continue;
      if (tensor_depths_[index(made)] != tensor_depths_[index(id)]) return true;
      seen.push_back(made);
      open.push_back(made);
    }
  }
  return false;
}

bool PassLiveness::stands_behind_another(TensorId id, const std::vector<int64_t>& bytes) const {
  std::vector<TensorId> made{id};
  for (size_t i = 0; i < made.size(); ++i) {
    for (OpId reader : graph_.readers(made[i])) {
      const TensorId output = graph_.op(reader).output;
      const bool at_once = tensor_depths_[index(output)] == tensor_depths_[index(id)];
      if (!at_once || contains(made, output)) continue;
      made.push_back(output);
      const bool serves = bytes[index(output)] <= bytes[index(id)] && !is_recomputed(output, bytes);
      if (serves && !read_deeper_around(id, output)) return true;
    }
  }
  return false;
}

void PassLiveness::find_last_reads() {
  last_read_ = tensor_depths_;
  // Operations are in topological order, so this visits readers first.
  for (size_t i = graph_.ops().size(); i-- > 0;) {
    const Op& op = graph_.ops()[i];
    const int32_t read =
        is_candidate_.contains(op.output) ? tensor_depths_[index(op.output)] : last_read_[index(op.output)];
    for (TensorId input : op.inputs) last_read_[index(input)] = std::max(last_read_[index(input)], read);
  }
}

void PassLiveness::find_demands() {
  for (size_t pass = 0; pass < passes(); ++pass) {
    TensorSet reached(graph_.tensors().size());
    for (size_t later = pass + 1; later < passes(); ++later) reached |= goals_[later];
    TensorId end{1};
    for (size_t t = graph_.tensors().size(); t-- > 1;) {
      const TensorId id = tensor_id(t);
      const bool deeper = tensor_depths_[t] > pass_depths_[pass];
      if (!deeper) end = std::max(end, tensor_id(t + 1));
      if (!deeper || !reached.contains(id) || statistics_.contains(id)) continue;
      insert_inputs(reached, *graph_.producer(id));
      reached.erase(id);  // not computed yet, so it cannot be kept
    }
    demands_.push_back(std::move(reached));
    end_.push_back(end);
  }
}

/// Own operations of a pass: everything between its targets and the nearest tensors that earlier passes may
/// have kept.
void PassLiveness::find_own_operations() {
  std::vector<bool> somewhere(graph_.ops().size(), false);
  own_operations_.resize(passes());
  for (size_t pass = 0; pass < passes(); ++pass) {
    std::vector<OpId>& own = own_operations_[pass] = targets_[pass].statistics;
    TensorSet needed = goals_[pass];
    for (TensorId id = needed.last_before(tensor_id(graph_.tensors().size())); id > TensorId{0};
         id = needed.last_before(id)) {
      const bool kept_before = may_be_kept(id) && tensor_depths_[index(id)] < pass_depths_[pass];
      if (kept_before || statistics_.contains(id)) continue;
      const OpId op = graph_.tensor(id).producer;
      own.push_back(op);
      for (size_t k = 0; k < graph_.op(op).inputs.size(); ++k) {
        if (!is_barrier(graph_.op(op), k)) needed.insert(graph_.op(op).inputs[k]);
      }
    }
    for (OpId op : own) somewhere[index(op)] = true;
  }
  // Some pass must also run every other needed operation. Which pass is open, so count it at the first one
  // that has its inputs.
  TensorSet needed(graph_.tensors().size());
  for (const TensorSet& goals : goals_) needed |= goals;
  walk_back(needed, tensor_id(graph_.tensors().size()), TensorSet(graph_.tensors().size()));
  for (size_t i = 0; i < graph_.ops().size(); ++i) {
    if (somewhere[i] || !needed.contains(graph_.ops()[i].output)) continue;
    const int32_t depth = tensor_depths_[index(graph_.ops()[i].output)];
    for (size_t pass = 0; pass < passes(); ++pass) {
      if (pass_depths_[pass] == depth) own_operations_[pass].push_back(OpId{static_cast<int32_t>(i)});
    }
  }
}

void PassLiveness::find_masks() {
  const TensorSet none(graph_.tensors().size());
  own_later_.assign(passes(), none);
  far_back_.assign(passes(), none);
  in_reach_.resize(passes());
  for (size_t pass = passes(); pass-- > 0;) {
    for (TensorId id : candidates_) {
      const int32_t own = tensor_depths_[index(id)], depth = pass_depths_[pass];
      const bool cut_point = graph_.tensor(id).cut_point;
      const bool may_keep = targets_[pass].optional() ? contains(targets_[pass].cut_points, id)
                                                      : own == depth || (own + 1 == depth && !cut_point);
      if (may_keep && !contains(targets_[pass].kept, id)) in_reach_[pass].push_back(id);
      if (pass + 1 < passes() && own + kDeepestRecompute < pass_depths_[pass + 1]) far_back_[pass].insert(id);
    }
    if (pass + 1 == passes()) continue;
    own_later_[pass] = own_later_[pass + 1];
    for (OpId op : own_operations_[pass + 1]) own_later_[pass].insert(graph_.op(op).output);
  }
}

std::vector<TensorId> PassLiveness::read_by_later_passes(size_t pass) const {
  std::vector<TensorId> list = targets_[pass].kept;
  for (OpId id : targets_[pass].statistics) {
    for (TensorId measured : graph_.op(id).inputs) {
      if (is_candidate_.contains(measured) && !contains(list, measured)) list.push_back(measured);
    }
  }
  std::erase_if(list, [&](TensorId id) {
    return graph_.producer(id)->kind == OpKind::add || !demands_[pass].contains(id);
  });
  return list;
}

TensorSet PassLiveness::set_of(const std::vector<TensorId>& tensors) const {
  TensorSet set(graph_.tensors().size());
  for (TensorId id : tensors) set.insert(id);
  return set;
}

std::vector<bool> PassLiveness::available(size_t pass, const std::vector<TensorId>& present) const {
  std::vector<bool> there = measured_[pass];
  for (TensorId id : present) there[index(id)] = true;
  return there;
}

void PassLiveness::walk_back(TensorSet& reached, TensorId end, const TensorSet& kept) const {
  for (TensorId id = reached.last_before(end); id > TensorId{0}; id = reached.last_before(id)) {
    if (kept.contains(id) || statistics_.contains(id)) continue;
    insert_inputs(reached, *graph_.producer(id));
  }
}

/// Inserts what an operation reads. An input that it recomputes, even where it is kept, counts as its own
/// inputs.
void PassLiveness::insert_inputs(TensorSet& reached, const Op& op) const {
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const TensorId input = op.inputs[k];
    const bool recomputed = is_always_kept_.contains(input) && is_kept_for_barriers_only(graph_, input);
    if (!is_barrier(op, k) && recomputed) {
      insert_inputs(reached, *graph_.producer(input));
    } else {
      reached.insert(input);
    }
  }
}

TensorSet PassLiveness::read_after(size_t pass, const TensorSet& kept) const {
  TensorSet reached = demands_[pass];
  walk_back(reached, end_[pass], kept);
  return reached;
}

std::vector<TensorId> PassLiveness::kept_of(const TensorSet& reached, const TensorSet& kept) const {
  TensorSet read = kept;
  read.insert(graph_.input());
  read &= reached;
  return read.members();
}

TensorSet PassLiveness::needed_by(size_t pass, const std::vector<TensorId>& keeps,
                                  const TensorSet& kept) const {
  TensorSet needed = goals_[pass];
  for (TensorId id : keeps) needed.insert(id);
  walk_back(needed, end_[pass], kept);
  return needed;
}

std::vector<TensorId> PassLiveness::read_of(const TensorSet& needed, const TensorSet& kept) const {
  TensorSet read = needed;
  read &= kept;
  read.erase(graph_.input());
  return read.members();
}

std::vector<OpId> PassLiveness::run_for(const TensorSet& needed, const TensorSet& kept) const {
  TensorSet made = needed;
  made -= kept;
  made -= statistics_;
  made.erase(graph_.input());
  std::vector<OpId> ops;
  for (TensorId id : made.members()) ops.push_back(graph_.tensor(id).producer);
  return ops;
}

bool PassLiveness::too_far_back(size_t pass, const TensorSet& reached, const TensorSet& kept) const {
  TensorSet far = far_back_[pass];
  far &= reached;
  far -= kept;
  return !far.empty();
}

std::vector<OpId> PassLiveness::again(size_t pass, const TensorSet& reached, const TensorSet& kept) const {
  TensorSet made = reached;
  made -= own_later_[pass];
  return run_for(made, kept);
}

std::vector<TensorId> PassLiveness::creatable(size_t pass, const std::vector<TensorId>& present) const {
  std::vector<TensorId> list;
  TensorSet kept = set_of(present);
  for (TensorId id : in_reach_[pass]) {
    if (kept.contains(id)) continue;
    kept.insert(id);
    if (read_after(pass, kept).contains(id)) list.push_back(id);
    kept.erase(id);
  }
  if (list.size() > kMostCreatable) {
    // Tensors read too far ahead to be recomputed must be kept, so they go last and survive the cut. Among
    // the others, the next passes read the latest ones first.
    std::stable_partition(list.begin(), list.end(), [&](TensorId id) {
      return last_read_[index(id)] <= tensor_depths_[index(id)] + kDeepestRecompute;
    });
    list.erase(list.begin(), list.end() - kMostCreatable);
    std::sort(list.begin(), list.end());
  }
  return list;
}

KeptRows::KeptRows(const Graph& graph, const PassLiveness& liveness, const Sizes& sizes)
    : graph_(graph),
      sizes_(sizes),
      whole_(graph.tensors().size(), false),
      around_(graph.tensors().size(), 0) {
  // Tensors are in topological order, so this visits readers first.
  for (size_t t = graph.tensors().size(); t-- > 0;) {
    const TensorId id{static_cast<int32_t>(t)};
    if (graph.tensor(id).statistics) continue;
    for (OpId reader : graph.readers(id)) {
      const Op& op = graph.op(reader);
      if (graph.tensor(op.output).statistics) continue;
      const bool read_kept = liveness.may_be_kept(op.output) && !is_kept_for_barriers_only(graph, op.output);
      const int64_t behind = read_kept ? 0 : around_[index(op.output)];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] != id) continue;
        if (is_barrier(op, i)) {
          whole_[t] = true;
        } else {
          around_[t] = std::max(around_[t], ceil_divide(behind, op.factor.y) * op.stride.y +
                                                int64_t{std::max(reach(op).before.y, reach(op).after.y)});
        }
      }
    }
  }
}

std::optional<Interval> KeptRows::of(TensorId id) const {
  if (!sizes_.latent_rows) return {};
  const Interval all{0, extent_of(graph_.tensor(id), sizes_.latent).y};
  const Interval own = own_rows(sizes_, graph_.tensor(id).scale.y);
  if (whole_[index(id)]) return all;
  return intersect({own.begin - around_[index(id)], own.end + around_[index(id)]}, all);
}

int64_t KeptRows::awaited_bytes(TensorId id) const {
  if (!sizes_.latent_rows) return 0;
  const Interval own = own_rows(sizes_, graph_.tensor(id).scale.y), stored = *of(id);
  const int64_t rows = whole_[index(id)] ? stored.length() - own.length()
                                         : std::max(own.begin - stored.begin, stored.end - own.end);
  return rows * row_bytes(graph_, id, sizes_) * sizes_.items;
}

}  // namespace headroom::planner
