#include "tests/support/plan_oracle.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/tiles.h"
#include "tests/support/simulated_rows.h"

namespace headroom::test {
namespace {

constexpr int64_t kMostFree = 8;      // tensors that a pass may optionally keep
constexpr int32_t kMostBarriers = 8;  // a recomputation may cross
constexpr int64_t kMostBands = 128;
constexpr int64_t kMostBlocks = 256;

bool by_position(const Op& op) {
  return op.kind == OpKind::add || op.kind == OpKind::norm ||
         (op.kind == OpKind::conv && op.kernel.t * op.kernel.y * op.kernel.x == 1);
}

std::vector<int64_t> heights(int64_t rows) {
  std::vector<int64_t> list{rows};
  for (int64_t power = 4; power < rows; power *= 2) {
    if (power * kMostBands >= rows) list.push_back(power);
  }
  return list;
}

/// The whole width and up to five smaller powers of two, from 32 on.
std::vector<int64_t> widths(int64_t columns) {
  std::vector<int64_t> powers;
  for (int64_t power = 32; power < columns; power *= 2) powers.push_back(power);
  while (powers.size() > 5) powers.erase(powers.begin());
  powers.push_back(columns);
  return powers;
}

}  // namespace

PlanOracle::PlanOracle(const Model& model, const Request& request, const OracleConfiguration& configuration,
                       const Assumptions& assumptions, size_t most_choices)
    : graph_(model.graph),
      configuration_(configuration),
      assumptions_(assumptions),
      most_choices_(most_choices) {
  const Axes<int32_t> scale = graph_.tensor(graph_.output()).scale;
  sizes_ = {{request.frames, request.height_pixels / scale.y, request.width_pixels / scale.x},
            configuration.micro_batch,
            request.dtype,
            request.device};
  targets_ = barrier_targets(graph_);
  depths_ = barrier_depths(graph_);
  for (const BarrierTargets& target : targets_) {
    const TensorId any = !target.statistics.empty() ? graph_.op(target.statistics[0]).inputs[0]
                         : !target.kept.empty()     ? target.kept[0]
                         : target.emits             ? graph_.output()
                                                    : target.cut_points[0];
    pass_depths_.push_back(depths_[index(any)]);
    if (target.optional()) optional_depths_.insert(depths_[index(any)]);
  }
  if (configuration.weights == WeightResidency::resident)
    start_seconds_ = load_seconds(graph_, sizes_, assumptions);
  states_.resize(targets_.size() + 1);
  numbers_.resize(targets_.size() + 1);
  states_[0].push_back({});
  for (size_t pass = 0; pass < targets_.size() && complete_; ++pass) {
    size_t choices = 0;
    for (OracleState& state : states_[pass]) {
      expand(pass, state);
      choices += state.choices.size();
      if (choices > most_choices_) complete_ = false;
      if (!complete_) break;
    }
  }
}

/// Number of values of one item.
int64_t PlanOracle::size(TensorId id) const {
  const Extent extent = extent_of(graph_.tensor(id), sizes_.latent);
  return extent.t * extent.y * extent.x * graph_.tensor(id).channels;
}

/// Follows docs/planning.md, "Keep or recompute".
bool PlanOracle::may_be_kept(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  if (id == graph_.input() || id == graph_.output() || tensor.statistics) return false;
  if (optional_depths_.contains(depths_[index(id)])) return tensor.cut_point;
  const auto made_by_position = [&](TensorId of) {
    bool at_barrier = false;
    for (const OpId reader : graph_.readers(of)) {
      const Op& op = graph_.op(reader);
      if (op.kind == OpKind::statistics ||
          (op.kind == OpKind::attention && (op.inputs[1] == of || op.inputs[2] == of)))
        at_barrier = true;
    }
    const Op& maker = *graph_.producer(of);
    if (maker.kind == OpKind::norm || maker.kind == OpKind::upsample) return true;
    return maker.kind == OpKind::conv && by_position(maker) && !at_barrier &&
           size(of) >= size(maker.inputs[0]);
  };
  if (made_by_position(id)) return false;
  for (size_t t = index(id) + 1; t < graph_.tensors().size(); ++t) {
    const TensorId other{static_cast<int32_t>(t)};
    const bool at_once = depths_[t] == depths_[index(id)] && !graph_.tensor(other).statistics;
    if (at_once && size(other) <= size(id) && !made_by_position(other) && all_goes_through(other, id))
      return false;
  }
  if (graph_.readers(id).size() != 1) return true;
  const Op& reader = graph_.op(graph_.readers(id)[0]);
  const bool same_pass = depths_[index(reader.output)] == depths_[index(id)];
  return !(by_position(reader) && same_pass && size(reader.output) <= size(id));
}

/// True if `other` is computed from `id`, and deeper passes use `id` only through `other`.
bool PlanOracle::all_goes_through(TensorId other, TensorId id) const {
  bool met = false;
  const std::function<bool(TensorId)> escapes = [&](TensorId here) {
    for (const OpId reader : graph_.readers(here)) {
      const TensorId output = graph_.op(reader).output;
      met = met || output == other;
      if (output == other) continue;
      if (depths_[index(output)] > depths_[index(id)] || escapes(output)) return true;
    }
    return false;
  };
  return !escapes(id) && met;
}

/// True for results by position that are kept for an attention, which reads them whole. All others recompute
/// them.
bool PlanOracle::serves_whole_reads_alone(TensorId id) const {
  if (id == graph_.input() || graph_.tensor(id).cut_point) return false;
  const OpKind kind = graph_.producer(id)->kind;
  return kind == OpKind::norm || kind == OpKind::upsample;
}

std::vector<bool> PlanOracle::read_later(size_t pass, const std::vector<bool>& kept) const {
  std::vector<bool> read(kept.size(), false), followed(kept.size(), false);
  const std::function<void(TensorId, bool)> follow = [&](TensorId id, bool whole) {
    if (graph_.tensor(id).statistics) return;
    read[index(id)] = read[index(id)] || whole || !serves_whole_reads_alone(id);
    const bool stops = kept[index(id)] && (whole || !serves_whole_reads_alone(id));
    if (followed[index(id)] || stops || id == graph_.input()) return;
    followed[index(id)] = true;
    const Op& op = *graph_.producer(id);
    for (size_t k = 0; k < op.inputs.size(); ++k) follow(op.inputs[k], is_barrier(op, k));
  };
  const auto visit = [&](TensorId id) { follow(id, false); };
  for (size_t later = pass + 1; later < targets_.size(); ++later) {
    for (const OpId op : targets_[later].statistics) visit(graph_.op(op).inputs[0]);
    for (const TensorId id : targets_[later].kept) visit(id);
    if (targets_[later].emits) visit(graph_.output());
  }
  for (size_t t = 0; t < read.size(); ++t) read[t] = read[t] && kept[t];
  return read;
}

int64_t PlanOracle::rows_of_block(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  const Extent extent = extent_of(tensor, sizes_.latent);
  const int64_t bytes =
      extent.t * extent.y * extent.x * tensor.channels * (sizes_.dtype == Dtype::fp32 ? 4 : 2);
  int64_t blocks = bytes / assumptions_.memory.block_bytes;
  blocks = std::max<int64_t>(1, std::min({blocks, extent.y, kMostBlocks}));
  return extent.y % blocks == 0 ? extent.y / blocks : extent.y / blocks + 1;
}

void PlanOracle::expand(size_t pass, OracleState& state) {
  std::vector<bool> present(graph_.tensors().size(), false);
  for (const Found& found : state.found) present[index(found.tensor)] = true;
  std::vector<TensorId> free;
  for (size_t t = 0; t < graph_.tensors().size(); ++t) {
    const TensorId id{static_cast<int32_t>(t)};
    const bool own = depths_[t] == pass_depths_[pass];
    const bool late = depths_[t] + 1 == pass_depths_[pass] && !graph_.tensor(id).cut_point;
    const bool now = own || (late && !targets_[pass].optional());
    if (!now || present[t] || contains(targets_[pass].kept, id) || !may_be_kept(id)) continue;
    std::vector<bool> with = present;
    with[t] = true;
    if (read_later(pass, with)[t]) free.push_back(id);
  }
  while (static_cast<int64_t>(free.size()) > kMostFree) free.erase(free.begin());
  for (size_t subset = 0; subset < size_t{1} << free.size(); ++subset) {
    std::vector<TensorId> keeps;
    std::vector<std::vector<TensorId>> movable;  // keys, together with their values
    for (size_t i = 0; i < free.size(); ++i) {
      if (subset >> i & 1) keeps.push_back(free[i]);
    }
    for (const TensorId id : keeps) movable.push_back({id});
    for (const Op& op : graph_.ops()) {
      if (op.kind != OpKind::attention || op.frames == AttentionFrames::interleaved) continue;
      if (op.inputs[0] == op.inputs[1] || op.inputs[0] == op.inputs[2]) continue;
      const auto others_read_it = [&](TensorId id) {
        const std::vector<OpId>& readers = graph_.readers(id);
        return !serves_whole_reads_alone(id) && std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
          return &graph_.op(reader) != &op;
        });
      };
      if (others_read_it(op.inputs[1]) || others_read_it(op.inputs[2])) continue;
      if (!contains(targets_[pass].kept, op.inputs[1])) continue;
      movable.push_back({op.inputs[1]});
      if (op.inputs[2] != op.inputs[1]) movable.back().push_back(op.inputs[2]);
    }
    if (!configuration_.lower_tier) movable.clear();
    keeps.insert(keeps.end(), targets_[pass].kept.begin(), targets_[pass].kept.end());
    for (size_t placing = 0; placing < size_t{1} << movable.size(); ++placing) {
      std::vector<TensorId> below;
      for (size_t i = 0; i < movable.size(); ++i) {
        if (placing >> i & 1) below.insert(below.end(), movable[i].begin(), movable[i].end());
      }
      add_choice(pass, state, keeps, below);
      if (state.choices.size() > most_choices_) complete_ = false;
      if (!complete_) return;
    }
  }
}

std::vector<bool> PlanOracle::operations_run(size_t pass, const std::vector<TensorId>& keeps,
                                             const std::vector<bool>& present) const {
  std::vector<bool> runs(graph_.ops().size(), false);
  const std::function<void(TensorId)> run = [&](TensorId id) {
    const bool stored = present[index(id)] && !serves_whole_reads_alone(id);
    if (stored || id == graph_.input() || graph_.tensor(id).statistics) return;
    const OpId op = graph_.tensor(id).producer;
    if (runs[index(op)]) return;
    runs[index(op)] = true;
    for (size_t k = 0; k < graph_.op(op).inputs.size(); ++k) {
      if (!is_barrier(graph_.op(op), k)) run(graph_.op(op).inputs[k]);
    }
  };
  for (const OpId op : targets_[pass].statistics) {
    runs[index(op)] = true;
    run(graph_.op(op).inputs[0]);
  }
  for (const TensorId id : keeps) run(id);
  if (targets_[pass].emits) run(graph_.output());
  return runs;
}

bool PlanOracle::adds_onto(TensorId sum, TensorId base, const std::vector<bool>& runs) const {
  const Op& add = *graph_.producer(sum);
  for (size_t i = 0; i < runs.size(); ++i) {
    const Op& op = graph_.ops()[i];
    if (!runs[i] || &op == &add) continue;
    for (const TensorId input : op.inputs) {
      if (input == base || (input == sum && op.kind != OpKind::statistics)) return false;
    }
  }
  return true;
}

void PlanOracle::add_measured(size_t pass, std::vector<bool>& present) const {
  for (size_t earlier = 0; earlier < pass; ++earlier) {
    for (const OpId op : targets_[earlier].statistics) present[index(graph_.op(op).output)] = true;
  }
}

bool PlanOracle::convolution_adds(size_t pass, const std::vector<TensorId>& keeps, std::vector<bool> present,
                                  TensorId sum) const {
  add_measured(pass, present);
  const Pass lowered = lower_pass(graph_, present, goal_of(targets_[pass], {.keeps = keeps}, sizes_));
  return std::any_of(lowered.steps.begin(), lowered.steps.end(),
                     [&](const Step& step) { return step.add != OpId{-1} && step.tensor == sum; });
}

std::optional<std::vector<Found>> PlanOracle::found_after(size_t pass, const OracleState& state,
                                                          const std::vector<TensorId>& keeps,
                                                          const std::vector<TensorId>& below) const {
  std::vector<bool> stored(graph_.tensors().size(), false);
  for (const Found& found : state.found) stored[index(found.tensor)] = true;
  for (const TensorId id : keeps) stored[index(id)] = true;
  const std::vector<bool> stays = read_later(pass, stored);
  std::vector<Found> after;
  for (const Found& found : state.found) {
    if (stays[index(found.tensor)]) after.push_back(found);
  }
  for (const TensorId id : keeps) {
    if (!stays[index(id)]) return std::nullopt;  // no later pass reads it
    after.push_back({id, contains(below, id) ? *configuration_.lower_tier : MemoryTier::device});
  }
  std::sort(after.begin(), after.end());
  return after;
}

void PlanOracle::add_choice(size_t pass, OracleState& state, const std::vector<TensorId>& keeps,
                            const std::vector<TensorId>& below) {
  std::vector<bool> present(graph_.tensors().size(), false);
  int64_t lower_bytes = 0;
  const auto blocks = [&](TensorId id) {
    return block_bytes_of(graph_, SimulatedTensor{id, MemoryTier::device, rows_of_block(id)}, sizes_);
  };
  for (const Found& found : state.found) {
    present[index(found.tensor)] = true;
    if (found.tier != MemoryTier::device) lower_bytes += blocks(found.tensor);
  }
  for (const TensorId id : below) lower_bytes += blocks(id);
  if (lower_bytes > configuration_.lower_limit_bytes && lower_bytes > 0) return;
  const std::optional<std::vector<Found>> after = found_after(pass, state, keeps, below);
  if (!after) return;

  const std::vector<bool> runs = operations_run(pass, keeps, present);
  for (size_t i = 0; i < runs.size(); ++i) {
    const TensorId made = graph_.ops()[i].output;
    if (runs[i] && may_be_kept(made) && depths_[index(made)] + kMostBarriers < pass_depths_[pass]) return;
  }

  OracleChoice choice{keeps, {}, below, 0, {}};
  std::vector<TensorId> replaced;
  for (const TensorId id : keeps) {
    const Op& add = *graph_.producer(id);
    if (add.kind != OpKind::add || contains(below, id)) continue;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const TensorId base = add.inputs[k], other = add.inputs[1 - k];
      const auto kept_base = std::find_if(state.found.begin(), state.found.end(),
                                          [&](const Found& f) { return f.tensor == base; });
      if (kept_base == state.found.end() || kept_base->tier != MemoryTier::device || present[index(other)])
        continue;
      const bool stays =
          std::any_of(after->begin(), after->end(), [&](const Found& found) { return found.tensor == base; });
      if (stays || !adds_onto(id, base, runs)) continue;
      // The add overwrites its first operand's tile, unless a convolution carries it out.
      if (k == 0 && !convolution_adds(pass, keeps, present, id)) continue;
      choice.in_place.push_back(id);
      replaced.push_back(base);
    }
  }

  const auto known = numbers_[pass + 1].find(*after);
  choice.next = known != numbers_[pass + 1].end() ? known->second : states_[pass + 1].size();
  if (targets_[pass].optional() && keeps.empty()) {
    choice.shapes = {{{1, 1, 1}, 0, 0}};  // the pass does not run
  } else {
    price(pass, state, replaced, *after, choice);
  }
  if (numbers_[pass + 1].try_emplace(*after, choice.next).second) states_[pass + 1].push_back({*after, {}});
  state.choices.push_back(std::move(choice));
}

void PlanOracle::price(size_t pass, const OracleState& state, const std::vector<TensorId>& replaced,
                       const std::vector<Found>& after, OracleChoice& choice) const {
  std::vector<bool> present(graph_.tensors().size(), false);
  for (const Found& found : state.found) present[index(found.tensor)] = true;
  add_measured(pass, present);
  PassGoal goal = goal_of(targets_[pass], {.keeps = choice.keeps, .in_place = choice.in_place}, sizes_);
  const Pass plain = lower_pass(graph_, present, goal);
  std::vector<SimulatedTensor> tensors;
  for (const Found& found : state.found) {
    const TensorId id = found.tensor;
    const bool stays =
        std::any_of(after.begin(), after.end(), [&](const Found& other) { return other.tensor == id; });
    tensors.push_back({id, found.tier, rows_of_block(id), false, !stays && !contains(replaced, id)});
  }
  for (const TensorId id : choice.keeps) {
    if (contains(choice.in_place, id)) continue;
    const MemoryTier tier = contains(choice.below, id) ? *configuration_.lower_tier : MemoryTier::device;
    tensors.push_back({id, tier, rows_of_block(id), true, false});
  }
  choice.shapes = priced(plain, tensors);
  if (sizes_.latent.t != 1 || !can_carry_rows(graph_, plain)) return;
  goal.carries_rows = true;
  for (const OracleShape& shape : priced(lower_pass(graph_, present, goal), tensors))
    choice.shapes.push_back(shape);
}

/// Lists the candidate choices of algorithms: all convolutions direct, then all eligible ones Winograd, then
/// ever more of them direct. Coarse inputs turn direct first, and upsampled ones first within a resolution.
std::vector<ConvolutionAlgorithms> PlanOracle::algorithms_of(const Pass& pass) const {
  std::vector<ConvolutionAlgorithms> list{ConvolutionAlgorithm::direct};
  if (sizes_.device == DeviceKind::cuda) return list;
  std::map<std::pair<int64_t, bool>, std::vector<OpId>> by_resolution;
  for (const Step& step : pass.steps) {
    if (step.op == OpId{-1} || !has_two_algorithms(graph_, graph_.op(step.op))) continue;
    const Op& op = graph_.op(step.op);
    const Axes<int32_t>& scale = graph_.tensor(op.inputs[0]).scale;
    std::vector<OpId>& ops = by_resolution[{int64_t{scale.t} * scale.y * scale.x, op.factor.y == 1}];
    if (!contains(ops, step.op)) ops.push_back(step.op);
  }
  std::vector<OpId> direct;
  for (const auto& [resolution, ops] : by_resolution) {
    for (const OpId op : ops) {
      list.push_back({ConvolutionAlgorithm::winograd, direct});
      direct.push_back(op);
    }
  }
  return list;
}

std::vector<OracleShape> PlanOracle::priced(Pass pass, const std::vector<SimulatedTensor>& tensors) const {
  std::vector<OracleShape> shapes;
  const Extent grid{sizes_.latent.t * pass.scale.t, sizes_.latent.y * pass.scale.y,
                    sizes_.latent.x * pass.scale.x};
  for (const ConvolutionAlgorithms& algorithms : algorithms_of(pass)) {
    pass.convolutions = algorithms;
    const std::vector<int64_t> plain = heights(grid.y);
    for (const int64_t rows : pass.carries_rows ? heights_with_rows_carried(graph_, pass, plain) : plain) {
      for (const int64_t columns : widths(grid.x)) {
        pass.tiles = {cut(grid.t, grid.t), cut(grid.y, rows), cut(grid.x, columns)};
        if (pass.carries_rows) pass.tiles.y = bands_with_rows_carried(graph_, pass, rows, grid.y);
        const SimulatedPass simulated =
            simulate_pass(graph_, pass, tensors, sizes_, configuration_.weights, assumptions_);
        shapes.push_back({{grid.t, rows, columns}, simulated.seconds, simulated.peak_bytes});
      }
    }
  }
  return shapes;
}

template <typename Value, typename OfChoice, typename Join>
Value PlanOracle::least(const OfChoice& of_choice, const Join& join) const {
  using Limits = std::numeric_limits<Value>;
  constexpr Value kNever = Limits::has_infinity ? Limits::infinity() : Limits::max();
  std::vector<Value> ahead(states_.back().size(), Value{0});
  for (size_t pass = targets_.size(); pass-- > 0;) {
    std::vector<Value> from;
    for (const OracleState& state : states_[pass]) {
      Value best = kNever;
      for (const OracleChoice& choice : state.choices)
        best = std::min(best, join(of_choice(choice.shapes), ahead[choice.next]));
      from.push_back(best);
    }
    ahead = std::move(from);
  }
  return ahead[0];
}

double PlanOracle::fewest_seconds(int64_t limit_bytes) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto fewest = [&](const std::vector<OracleShape>& shapes) {
    double best = kNever;
    for (const OracleShape& shape : shapes)
      best = shape.peak_bytes <= limit_bytes ? std::min(best, shape.seconds) : best;
    return best;
  };
  return start_seconds_ + least<double>(fewest, std::plus<double>());
}

int64_t PlanOracle::smallest_peak() const {
  const auto smallest = [](const std::vector<OracleShape>& shapes) {
    int64_t peak = std::numeric_limits<int64_t>::max();
    for (const OracleShape& shape : shapes) peak = std::min(peak, shape.peak_bytes);
    return peak;
  };
  return least<int64_t>(smallest, [](int64_t a, int64_t b) { return std::max(a, b); });
}

}  // namespace headroom::test
