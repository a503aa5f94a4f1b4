#include "planner/plan_space.h"

#include <algorithm>

namespace headroom {
namespace {

/// How many barriers a pass may recompute across. More never paid in any plan seen, and the bound keeps the number of
/// frontiers small.
constexpr int32_t kDeepestRecompute = 8;
constexpr size_t kMostCreatable = 8;
constexpr int64_t kSmallestTile = 4;

bool contains(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

bool pointwise(const Op& op) {
  return op.kind == OpKind::add || op.kind == OpKind::norm ||
         (op.kind == OpKind::conv && op.kernel == Axes<int32_t>{1, 1, 1});
}

/// Lengths to cut an axis into: the whole, and halves of it down to the smallest, each a power of two times it.
std::vector<int64_t> tile_lengths(int64_t length, int64_t smallest, size_t most) {
  std::vector<int64_t> lengths{length};
  int64_t power = smallest;
  while (power * 2 < length) power *= 2;
  for (; power >= smallest && power < length && lengths.size() < most; power /= 2) lengths.push_back(power);
  return lengths;
}

}  // namespace

PlanSpace::PlanSpace(const Model& model, const Request& request, int64_t slice, const CostModel& costs)
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
  bound_times();
  fixed_bytes_ = allocated_bytes(weights_bytes(graph_, sizes_.dtype)) + latent_bytes(graph_, sizes_) + costs.memory().reserve_bytes;
  known_.resize(targets_.size());
}

/// Leaves out tensors that another candidate always serves better.
void PlanSpace::find_candidates() {
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
}

void PlanSpace::bound_times() {
  least_seconds_from_.assign(targets_.size() + 1, 0);
  for (size_t pass = targets_.size(); pass-- > 0;) {
    double seconds = 0;
    for (size_t i = 0; i < graph_.ops().size(); ++i) {
      const Op& op = graph_.ops()[i];
      // Statistics are measured in the pass of their input.
      const TensorId made = op.kind == OpKind::statistics ? op.inputs[0] : op.output;
      if (tensor_depths_[index(made)] == pass_depths_[pass]) seconds += costs_.least_seconds(graph_, OpId{static_cast<int32_t>(i)}, sizes_);
    }
    least_seconds_from_[pass] = least_seconds_from_[pass + 1] + seconds;
  }
}

std::vector<bool> PlanSpace::flags(size_t pass, const Frontier& frontier) const {
  std::vector<bool> kept(graph_.tensors().size(), false);
  for (TensorId id : frontier) kept[index(id)] = true;
  for (size_t earlier = 0; earlier < pass; ++earlier) {
    for (OpId op : targets_[earlier].statistics) kept[index(graph_.op(op).output)] = true;
  }
  return kept;
}

Frontier PlanSpace::reached_after(size_t pass, const std::vector<bool>& kept) const {
  std::vector<bool> reached(graph_.tensors().size(), false);
  for (size_t later = pass + 1; later < targets_.size(); ++later) {
    for (OpId op : targets_[later].statistics) reached[index(graph_.op(op).inputs[0])] = true;
    for (TensorId id : targets_[later].whole) reached[index(id)] = true;
    if (targets_[later].emits) reached[index(graph_.output())] = true;
  }
  Frontier frontier;
  for (size_t t = graph_.tensors().size(); t-- > 0;) {
    if (!reached[t] || graph_.tensors()[t].statistics) continue;
    const TensorId id{static_cast<int32_t>(t)};
    if (kept[t] || t == 0) {
      if (t != 0) frontier.push_back(id);
      continue;
    }
    for (TensorId input : graph_.producer(id)->inputs) reached[index(input)] = true;
  }
  if (reached[0]) frontier.push_back(graph_.latent());
  std::sort(frontier.begin(), frontier.end());
  return frontier;
}

bool PlanSpace::too_far_back(size_t pass, const Frontier& frontier) const {
  return std::any_of(frontier.begin(), frontier.end(), [&](TensorId id) {
    return tensor_depths_[index(id)] + kDeepestRecompute < pass_depths_[pass];
  });
}

std::vector<TensorId> PlanSpace::creatable(size_t pass, const Frontier& frontier) const {
  const int32_t depth = pass_depths_[pass];
  std::vector<TensorId> list;
  for (TensorId id : candidates_) {
    const int32_t own = tensor_depths_[index(id)];
    if (own > depth || own + 1 < depth || contains(frontier, id) || contains(targets_[pass].whole, id)) continue;
    std::vector<bool> kept = flags(pass, frontier);
    kept[index(id)] = true;
    if (contains(reached_after(pass, kept), id)) list.push_back(id);
  }
  // The latest are the ones that passes ahead read first.
  if (list.size() > kMostCreatable) list.erase(list.begin(), list.end() - kMostCreatable);
  return list;
}

Kept PlanSpace::kept_entry(TensorId id) const {
  Kept entry;
  entry.tensor = id;
  entry.block_rows = block_rows(graph_, id, sizes_, costs_.memory().block_bytes);
  return entry;
}

std::vector<Shape> PlanSpace::price(const Pass& lowered, const Frontier& frontier, const Choice& choice) const {
  std::vector<Kept> entries;
  entries.reserve(frontier.size() + choice.keeps.size());
  std::vector<KeptInPass> kept;
  const std::vector<bool> none(graph_.tensors().size(), false);
  const auto base_of_another = [&](TensorId id) {
    return std::any_of(choice.in_place.begin(), choice.in_place.end(), [&](TensorId target) {
      return contains(graph_.producer(target)->inputs, id);
    });
  };
  for (TensorId id : frontier) {
    if (id == graph_.latent()) continue;
    entries.push_back(kept_entry(id));
    kept.push_back({&entries.back(), false, !contains(choice.next, id) && !base_of_another(id)});
  }
  for (TensorId id : choice.keeps) {
    entries.push_back(kept_entry(id));
    kept.push_back({&entries.back(), true, false});
  }
  const Extent grid = per_axis([](int64_t length, int32_t scale) { return length * scale; }, sizes_.latent, lowered.scale);
  std::vector<Shape> shapes;
  Pass pass = lowered;
  for (int64_t y : tile_lengths(grid.y, kSmallestTile, 12)) {
    for (int64_t x : tile_lengths(grid.x, kSmallestTile * 8, 4)) {
      Shape shape{{grid.t, y, x}, 0, 0};
      shape.seconds = costs_.pass_seconds(graph_, pass, shape.tile, sizes_);
      pass.tiles = cut_grid(pass, shape.tile, sizes_.latent);
      shape.peak_bytes = fixed_bytes_ + pass_peak_bytes(graph_, pass, kept, shape.tile, sizes_, costs_.memory());
      shapes.push_back(shape);
    }
  }
  std::sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) { return a.seconds < b.seconds; });
  // A slower shape is worth having only where it takes less.
  std::vector<Shape> useful;
  for (const Shape& shape : shapes) {
    if (useful.empty() || shape.peak_bytes < useful.back().peak_bytes) useful.push_back(shape);
  }
  return useful;
}

const std::vector<Choice>& PlanSpace::choices(size_t pass, const Frontier& frontier) {
  const auto known = known_[pass].find(frontier);
  if (known != known_[pass].end()) return known->second;

  const std::vector<bool> available = flags(pass, frontier);
  const std::vector<TensorId> creatable_here = creatable(pass, frontier);
  std::vector<Choice> list;
  for (size_t subset = 0; subset < size_t{1} << creatable_here.size(); ++subset) {
    Choice choice;
    choice.keeps = targets_[pass].whole;
    for (size_t i = 0; i < creatable_here.size(); ++i) {
      if (subset >> i & 1) choice.keeps.push_back(creatable_here[i]);
    }
    std::vector<bool> after = available;
    for (TensorId id : choice.keeps) after[index(id)] = true;
    choice.next = reached_after(pass, after);
    const bool useless = std::any_of(choice.keeps.begin(), choice.keeps.end(),
                                     [&](TensorId id) { return !contains(choice.next, id); });
    if (useless || (pass + 1 < targets_.size() && too_far_back(pass, choice.next))) continue;

    const PassDecision decision{.keeps = choice.keeps};
    PassGoal goal = goal_of(targets_[pass], decision);
    for (TensorId id : choice.keeps) {
      const TensorId base = in_place_base(graph_, available, goal, id);
      if (base != TensorId{-1} && !contains(choice.next, base)) choice.in_place.push_back(id);
    }
    goal.in_place = choice.in_place;
    choice.shapes = price(lower_pass(graph_, available, goal), frontier, choice);
    list.push_back(std::move(choice));
  }
  return known_[pass][frontier] = std::move(list);
}

}  // namespace headroom
