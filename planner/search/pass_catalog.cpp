#include "planner/search/pass_catalog.h"

#include "decoder/lowering/attention.h"
#include "decoder/lowering/blocks.h"
#include "decoder/lowering/rank_rows.h"
#include "decoder/lowering/ranked_plan.h"
#include "decoder/lowering/tiles.h"
#include "decoder/lowering/weights_bytes.h"

#include <algorithm>
#include <stdexcept>

namespace headroom::planner {
namespace {

/// Tensors that a pass may keep or not where one is kept above a row, that one among them.
constexpr size_t kMostCreatableAbove = 4;

/// The share that needs most: the most rows, and others on both sides where there are so many ranks.
RankShare largest_share(int64_t latent_rows, int32_t ranks) {
  const std::vector<Interval> shares = share_rows(latent_rows, ranks);
  const int32_t rank = ranks > 2 && shares[1].length() == shares[0].length() ? 1 : 0;
  return {rank, ranks, shares[static_cast<size_t>(rank)]};
}

/// What lower parts of passes find: tensors that are stored whole, and those of which rows are left for them.
std::vector<TensorId> found_by_lower_parts(const Present& present) {
  std::vector<TensorId> found = present.kept;
  found.insert(found.end(), present.below.begin(), present.below.end());
  return found;
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
  if (costs.device() != request.device) throw std::logic_error("costs of another kind of device");
  find_sizes();
  keep_sets_.resize(passes());
  works_.resize(passes());
  working_.resize(passes());
}

std::vector<KeepSet> PassCatalog::find_keep_sets(size_t pass, const Present& present, int64_t latent_rows) {
  std::vector<KeepSet> sets;
  if (latent_rows > 0 && liveness_.kept_above(pass).empty()) return sets;
  std::vector<TensorId> free_choice =
      liveness_.creatable(pass, found_by_lower_parts(present), present.above.tensor);
  if (latent_rows > 0 && free_choice.size() > kMostCreatableAbove)
    free_choice.erase(free_choice.begin(), free_choice.end() - kMostCreatableAbove);
  const auto add = [&](KeepSet set) {
    set.at_cut_point = liveness_.targets(pass).optional();
    set.runs = !set.at_cut_point || !set.keeps.empty();
    if (complete(pass, present, set)) sets.push_back(std::move(set));
  };
  for (size_t subset = 0; subset < size_t{1} << free_choice.size(); ++subset) {
    KeepSet set;
    set.keeps = liveness_.targets(pass).kept;
    for (size_t i = 0; i < free_choice.size(); ++i) {
      if (subset >> i & 1) set.keeps.push_back(free_choice[i]);
    }
    if (latent_rows == 0) {
      add(std::move(set));
      continue;
    }
    for (TensorId id : free_choice) {
      if (contains(set.keeps, id) || !contains(liveness_.kept_above(pass), id)) continue;
      KeepSet with = set;
      with.keeps.push_back(id);
      with.above = {id, latent_rows};
      add(std::move(with));
    }
  }
  return sets;
}

bool PassCatalog::complete(size_t pass, const Present& present, KeepSet& set) {
  // Lower parts of passes ahead find what is stored whole or left below a row; whole passes and upper parts
  // find what is stored whole or kept above it.
  TensorSet stored = liveness_.set_of(found_by_lower_parts(present));
  for (TensorId id : set.keeps) {
    if (id != set.above.tensor) stored.insert(id);
  }
  const TensorSet reached = liveness_.read_after(pass, stored);
  const bool useless = std::any_of(set.keeps.begin(), set.keeps.end(), [&](TensorId id) {
    return id != set.above.tensor && !reached.contains(id);
  });
  if (useless || liveness_.too_far_back(pass, reached, stored)) return false;
  const KeptAbove& above = set.above.any() ? set.above : present.above;
  TensorSet with = stored;
  if (above.any()) with.insert(above.tensor);
  const TensorSet reached_above = above.any() ? liveness_.read_after(pass, with) : reached;
  if (above.any() && reached_above.contains(above.tensor)) set.next.above = above;
  if (!set_next(present, liveness_.kept_of(reached, stored), reached_above, set)) return false;
  add_again(liveness_.again(pass, reached, stored), liveness_.again(pass, reached_above, with), set);
  set.exchange_seconds = exchange_seconds(pass, set);
  std::optional<Touched> touched = touched_by(pass, present, set);
  if (!touched) return false;
  // What the pass does not read stays: only what it makes could stand in for it, and that is made of it.
  const auto is_touched = [&](TensorId id) {
    return id == graph_.latent() || std::any_of(touched->option.begin(), touched->option.end(),
                                                [&](const TensorUse& tensor) { return tensor.tensor == id; });
  };
  set.passing = present;
  std::erase_if(set.passing.kept, is_touched);
  std::erase_if(set.passing.below, is_touched);
  if (touched->two_parts) set.passing.above = {};
  set.work = &*works_[pass].try_emplace(std::move(*touched)).first;
  return true;
}

bool PassCatalog::set_next(const Present& present, const std::vector<TensorId>& stored,
                           const TensorSet& reached_above, KeepSet& set) const {
  const KeptAbove& above = set.next.above;
  if (set.above.any() && !above.any()) return false;  // kept above a row for nothing
  for (TensorId id : stored) {
    const bool read = !above.any() || reached_above.contains(id);
    if (read && contains(present.below, id)) return false;  // rows of it are gone
    if (!read && contains(set.keeps, id)) return false;     // lower parts alone would read it
    const bool left_below =
        !read && id != graph_.latent() && first_row_below(graph_, id, above.latent_rows) > 0;
    (left_below ? set.next.below : set.next.kept).push_back(id);
  }
  return true;
}

/// `whole` must be run again where only what is stored whole is there, `above` where more is. What the former
/// has alone is run below the row above which a tensor is kept.
void PassCatalog::add_again(const std::vector<OpId>& whole, const std::vector<OpId>& above,
                            KeepSet& set) const {
  const double rows = double(set.next.above.latent_rows) / double(sizes_.latent.y);
  for (OpId op : whole) {
    const double share = contains(above, op) ? 1 : 1 - rows;
    set.recompute_seconds += op_least_seconds_[index(op)] * share;
    set.recompute_weights_bytes += op_weights_bytes_[index(op)];
  }
}

double PassCatalog::run_seconds(size_t pass, const TensorSet& needed, const TensorSet& available) const {
  double seconds = 0;
  for (OpId op : liveness_.targets(pass).statistics) seconds += op_least_seconds_[index(op)];
  for (OpId op : liveness_.run_for(needed, available)) seconds += op_least_seconds_[index(op)];
  return seconds;
}

std::optional<Touched> PassCatalog::touched_by(size_t pass, const Present& present, KeepSet& set) const {
  Touched touched;
  TensorSet available = liveness_.set_of(found_by_lower_parts(present));
  const TensorSet needed = liveness_.needed_by(pass, set.keeps, available);
  const std::vector<TensorId> read = liveness_.read_of(needed, available);
  std::vector<TensorId> read_above = read;
  if (set.runs) set.least_seconds = run_seconds(pass, needed, available);
  const KeptAbove& above = present.above;
  if (above.any()) {
    available.insert(above.tensor);
    const TensorSet needed_above = liveness_.needed_by(pass, set.keeps, available);
    read_above = liveness_.read_of(needed_above, available);
    touched.two_parts = contains(read_above, above.tensor);
    // The upper part has no more rows than what is kept, and what it runs the lower one runs too.
    const double share = double(above.latent_rows) / double(sizes_.latent.y);
    if (touched.two_parts)
      set.least_seconds += (run_seconds(pass, needed_above, available) - set.least_seconds) * share;
  }
  // What replaces a tensor that is kept above a row is made of it.
  if (set.above.any() && above.any() && !touched.two_parts) return std::nullopt;
  for (TensorId id : read_above) {
    if (contains(present.below, id)) return std::nullopt;
    if (!contains(read, id) && id != above.tensor) touched.option.push_back({.tensor = id});
  }
  for (TensorId id : read) touched.option.push_back({.tensor = id});
  for (TensorUse& tensor : touched.option) {
    const TensorId id = tensor.tensor;
    const int64_t first_row =
        contains(set.next.below, id) ? first_row_below(graph_, id, set.next.above.latent_rows) : 0;
    tensor.leaves = !contains(set.next.kept, id) && first_row == 0;
    if (contains(present.below, id)) {
      tensor.begin_row = first_row_below(graph_, id, above.latent_rows);
    } else if (first_row > 0) {
      tensor.leaves = true;
      tensor.held_from = first_row;
    }
    if (!touched.two_parts || (tensor.leaves && !tensor.held_from && !contains(read, id))) continue;
    touched.lower.push_back(tensor);
    if (!tensor.held_from) continue;
    touched.lower.back().leaves = false;
    touched.lower.back().begin_row = first_row;
    touched.lower.back().held_from.reset();
  }
  if (touched.two_parts) {
    const bool stays = set.next.above == above;
    TensorUse use{.tensor = above.tensor, .rows = rows_above(graph_, above), .leaves = !stays};
    touched.option.push_back(use);
    if (stays) touched.lower.push_back(use);
  }
  for (TensorId id : set.keeps) {
    TensorUse use{.tensor = id, .written = true};
    if (id == set.above.tensor) use.rows = rows_above(graph_, set.above);
    touched.option.push_back(use);
    if (touched.two_parts) touched.lower.push_back(use);
  }
  return touched;
}

bool PassCatalog::finds_rows(const Pass& lower, const Touched& touched) const {
  return std::all_of(touched.lower.begin(), touched.lower.end(), [&](const TensorUse& tensor) {
    return first_row_of_lower_part(graph_, lower, tensor.tensor, sizes_) >= tensor.begin_row;
  });
}

/// Whether tiles compute rows of each other by convolutions, which carrying them would spare.
bool PassCatalog::may_carry_rows(const Pass& pass) const {
  return ranks_.alone() && sizes_.latent.t == 1 && can_carry_rows(pass) &&
         std::any_of(pass.steps.begin(), pass.steps.end(), [](const Step& step) {
           return step.kind == StepKind::conv && step.halo.before.y + step.halo.after.y > 0;
         });
}

PassCatalog::LoweredParts PassCatalog::lowered(size_t pass, const Present& present, bool two_parts,
                                               const PassGoal& goal) const {
  LoweredParts parts;
  std::vector<bool> available = liveness_.available(pass, found_by_lower_parts(present));
  Pass whole = lower_pass(graph_, available, goal);
  if (!two_parts) {
    if (may_carry_rows(whole)) {
      PassGoal carrying = goal;
      carrying.carries_rows = true;
      parts.carrying = lower_pass(graph_, available, carrying);
    }
    parts.option = std::move(whole);
    return parts;
  }
  available[index(present.above.tensor)] = true;
  parts.option = lower_pass(graph_, available, goal);
  parts.lower = std::move(whole);
  parts.upper_latent_rows = upper_latent_rows(graph_, parts.option, present.above, sizes_);
  parts.option.part = PassPart::upper;
  parts.lower.part = PassPart::lower;
  const int32_t scale = parts.lower.scale.y;
  parts.lower.tiles.y = {{parts.upper_latent_rows * scale, sizes_.latent.y * scale}};
  return parts;
}

const PassWork& PassCatalog::work(size_t pass, const Present& present, const KeepSet& set) {
  const Touched& touched = set.work->first;
  PassWork& work = set.work->second;
  if (!work.possible || !work.options.empty()) return work;
  const bool two_parts = touched.two_parts;
  LoweredParts parts;
  if (set.runs) {
    const PassDecision decision{.keeps = set.keeps, .above = set.above};
    parts = lowered(pass, present, two_parts, goal_of(liveness_.targets(pass), decision, sizes_));
  }
  work.possible = !two_parts || (parts.upper_latent_rows > 0 && finds_rows(parts.lower, touched));
  if (!work.possible) return work;
  const std::vector<bool> whole = liveness_.available(pass, found_by_lower_parts(present));
  std::vector<bool> with = whole;
  if (two_parts) with[index(present.above.tensor)] = true;
  for (TensorId id : set.keeps) {
    if (id == set.above.tensor) continue;
    const TensorId base = in_place_base(graph_, whole, two_parts ? parts.lower : parts.option, id);
    if (base == TensorId{-1} || contains(set.next.kept, base)) continue;
    if (two_parts && in_place_base(graph_, with, parts.option, id) != base) continue;
    work.takeovers.push_back({id, base});
  }
  work.options[{}] = parts_of(pass, parts, touched);
  return work;
}

WorkingBytes& PassCatalog::working_bytes(size_t pass, const Pass& lowered) {
  std::deque<WorkingBytes>& list = working_[pass];
  const auto known = std::find_if(list.begin(), list.end(),
                                  [&](const WorkingBytes& other) { return other.has_steps_of(lowered); });
  return known != list.end() ? *known : list.emplace_back(graph_, costs_, sizes_, lowered);
}

PassWork::Parts PassCatalog::parts_of(size_t pass, const LoweredParts& lowered, Touched touched) {
  const auto option_of = [&](const Pass& of_part, std::vector<TensorUse> tensors, int64_t rows) {
    WorkingBytes& working = working_bytes(pass, of_part);
    const Sizes sizes = sizes_of_part(sizes_, of_part.part, rows);
    return std::make_unique<PassOption>(working, kept_rows_, sizes, of_part.part, std::move(tensors));
  };
  if (!touched.two_parts) {
    std::unique_ptr<PassOption> carrying;
    if (lowered.carrying) carrying = option_of(*lowered.carrying, touched.option, 0);
    PassWork::Parts parts{option_of(lowered.option, std::move(touched.option), 0), nullptr};
    if (carrying && carrying->heights() > 0) parts.option->set_carrying(std::move(carrying));
    return parts;
  }
  // What leaves in both parts.
  for (TensorUse& tensor : touched.option) {
    for (TensorUse& in_lower : touched.lower) {
      if (in_lower.tensor != tensor.tensor || !in_lower.leaves || !tensor.leaves) continue;
      in_lower.begin_row = first_row_of_lower_part(graph_, lowered.lower, tensor.tensor, sizes_);
      tensor.held_from = in_lower.begin_row;
    }
  }
  const int64_t rows = lowered.upper_latent_rows;
  return {option_of(lowered.option, std::move(touched.option), rows),
          option_of(lowered.lower, std::move(touched.lower), rows)};
}

const PassWork::Parts& PassCatalog::option(size_t pass, const Present& present, const KeepSet& set,
                                           const std::vector<TensorId>& in_place) {
  PassWork& work = set.work->second;
  PassWork::Parts& parts = work.options[in_place];
  if (parts.option) return parts;
  const PassWork::Parts& without = work.options.at({});
  Touched touched{without.lower != nullptr, without.option->touched(), {}};
  if (touched.two_parts) touched.lower = without.lower->touched();
  const auto keep_replaced = [&](std::vector<TensorUse>& tensors) {
    for (TensorUse& tensor : tensors) {
      // The tensor that takes its blocks over stays in them.
      const bool replaced =
          std::any_of(work.takeovers.begin(), work.takeovers.end(), [&](const PassWork::Takeover& takeover) {
            return takeover.base == tensor.tensor && contains(in_place, takeover.target);
          });
      if (replaced) tensor = {.tensor = tensor.tensor};
    }
  };
  keep_replaced(touched.option);
  keep_replaced(touched.lower);
  const PassDecision decision{.keeps = set.keeps, .in_place = in_place, .above = set.above};
  const PassGoal goal = goal_of(liveness_.targets(pass), decision, sizes_);
  parts = parts_of(pass, lowered(pass, present, touched.two_parts, goal), std::move(touched));
  return parts;
}

int64_t PassCatalog::kept_bytes(const KeptAbove& above) const {
  TensorUse entry;
  entry.tensor = above.tensor;
  entry.rows = rows_above(graph_, above);
  entry.block_rows =
      block_rows(entry.rows->length(), row_bytes(graph_, entry.tensor, sizes_), costs_.memory().block_bytes);
  return headroom::kept_bytes(graph_, entry, sizes_);
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
    const Op& reader = graph_.op(graph_.readers(id).front());
    if (takes_keys_by_block(graph_, reader) && reader.inputs[1] == id)
      groups.push_back({id, reader.inputs[2]});
  }
  return groups;
}

/// What every operation's parameters take and the operation itself at the least; every tensor's blocks, were
/// it kept.
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
    entry.block_rows = block_rows(kept_rows(graph_, entry, sizes_).length(),
                                  row_bytes(graph_, entry.tensor, sizes_), costs_.memory().block_bytes);
    bytes_if_kept_[t] = headroom::kept_bytes(graph_, entry, sizes_);
  }
}

double PassCatalog::least_handover_seconds(size_t pass) const {
  double seconds = 0;
  for (TensorId id : liveness_.handed_on(pass)) {
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
    const Step step{.kind = traits_of(graph_.op(id).kind).step, .op = id};
    values += statistics_values(graph_, step, sizes_);
  }
  for (TensorId id : set.keeps) bytes += kept_rows_.awaited_bytes(id);
  return gather_seconds(values, ranks_) + message_seconds(double(bytes), ranks_.link);
}

int64_t PassCatalog::kept_bytes_below(TensorId id, int64_t latent_rows) const {
  TensorUse entry;
  entry.tensor = id;
  entry.block_rows = block_rows(graph_, id, sizes_, costs_.memory().block_bytes);
  const int64_t gone = first_row_below(graph_, id, latent_rows) / entry.block_rows;
  return kept_bytes(id) - sizes_.items * gone * kept_block_bytes(graph_, entry, sizes_);
}

const std::vector<KeepSet>& PassCatalog::keep_sets(size_t pass, const Present& present, int64_t latent_rows) {
  const auto [sets, unseen] = keep_sets_[pass].try_emplace({present, latent_rows});
  if (unseen) sets->second = find_keep_sets(pass, present, latent_rows);
  return sets->second;
}

}  // namespace headroom::planner
