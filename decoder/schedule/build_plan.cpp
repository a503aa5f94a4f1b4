#include "decoder/schedule/build_plan.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/peak.h"
#include "decoder/schedule/tiles.h"
#include "decoder/schedule/transfers.h"

namespace headroom {
namespace {

constexpr int32_t kNever = -1;

class Builder {
 public:
  Builder(const Model& model, const Request& request, const PlanConfiguration& configuration,
          const MemoryModel& memory)
      : graph_(model.graph),
        configuration_(configuration),
        memory_(memory),
        targets_(barrier_targets(graph_)) {
    plan_.request = request;
    plan_.share = configuration.share;
    plan_.micro_batch = configuration.micro_batch;
    plan_.weights = configuration.weights;
    sizes_ = sizes_of(graph_, plan_);
  }

  Plan run(const std::vector<PassDecision>& decisions) {
    drop_optional_passes(decisions);
    lower(decisions);
    find_lifetimes();
    if (!plan_.share.alone()) find_kept_rows();
    predict();
    return std::move(plan_);
  }

 private:
  /// Drops the optional passes that the plan does not use. A decision's deepest kept cut point identifies its
  /// pass.
  void drop_optional_passes(const std::vector<PassDecision>& decisions) {
    std::vector<BarrierTargets> running;
    const auto keeps_cut_point = [](const PassDecision& decision, const BarrierTargets& targets) {
      return std::any_of(targets.cut_points.begin(), targets.cut_points.end(),
                         [&](TensorId id) { return contains(decision.keeps, id); });
    };
    for (size_t i = 0; i < targets_.size(); ++i) {
      const bool decided = running.size() < decisions.size();
      bool runs = !targets_[i].optional();
      if (!runs && decided && decisions[running.size()].at_cut_point) {
        const PassDecision& decision = decisions[running.size()];
        runs = keeps_cut_point(decision, targets_[i]);
        for (size_t later = i + 1; later < targets_.size(); ++later)
          runs = runs && !keeps_cut_point(decision, targets_[later]);
      }
      if (runs) running.push_back(targets_[i]);
    }
    if (running.size() != decisions.size()) throw std::logic_error("one decision per pass that runs");
    targets_ = std::move(running);
  }

  void lower(const std::vector<PassDecision>& decisions) {
    std::vector<bool> kept(graph_.tensors().size(), false);
    for (size_t i = 0; i < targets_.size(); ++i) {
      const PassDecision& decision = decisions[i];
      const PassGoal goal = goal_of(targets_[i], decision, sizes_);
      const auto first = static_cast<int32_t>(plan_.passes.size());
      for (TensorId id : goal.keeps) {
        KeptTensor entry{.tensor = id, .first_pass = first, .last_pass = kNever};
        entry.block_rows = block_rows(graph_, use_of(entry), sizes_, memory_.block_bytes);
        if (contains(goal.in_place, id)) entry.in_place_of = in_place_base(graph_, kept, goal, id);
        if (contains(decision.below, id)) entry.tier = configuration_.lower_tier;
        plan_.kept.push_back(entry);
      }
      if (goal.carries_rows && !plan_.share.alone()) throw std::logic_error("a rank's pass carries rows");
      Pass pass = lower_pass(graph_, kept, goal);
      pass.convolutions = decision.convolutions;
      pass.tiles = cut_grid(graph_, pass, decision.tile, sizes_);
      plan_.passes.push_back(std::move(pass));
      for (const KeptTensor& entry : plan_.kept) {
        if (entry.first_pass != first) continue;
        kept[index(entry.tensor)] = true;
        if (entry.in_place_of != TensorId{-1}) kept[index(entry.in_place_of)] = false;
      }
      for (OpId op : goal.statistics) kept[index(graph_.op(op).output)] = true;
    }
  }

  void find_lifetimes() {
    for (KeptTensor& entry : plan_.kept) {
      for (size_t i = 0; i < plan_.passes.size(); ++i) {
        for (const Step& step : plan_.passes[i].steps) {
          for (const Operand& operand : step.inputs) {
            if (operand.tensor == entry.tensor && operand.step == -1)
              entry.last_pass = static_cast<int32_t>(i);
          }
        }
      }
      if (entry.last_pass <= entry.first_pass)
        throw std::logic_error(graph_.tensor(entry.tensor).name + " is kept but no later pass reads it");
    }
  }

  /// Finds the rows that this rank keeps. A tensor written in place keeps the rows of its base.
  void find_kept_rows() {
    for (KeptTensor& entry : plan_.kept) entry.rows = rows_needed(graph_, plan_, entry.tensor);
    for (auto entry = plan_.kept.rbegin(); entry != plan_.kept.rend(); ++entry) {
      if (entry->in_place_of == TensorId{-1}) continue;
      Interval& rows = *kept_of(entry->in_place_of).rows;
      rows = {std::min(rows.begin, entry->rows->begin), std::max(rows.end, entry->rows->end)};
    }
    for (KeptTensor& entry : plan_.kept) {
      if (entry.in_place_of != TensorId{-1}) entry.rows = kept_of(entry.in_place_of).rows;
      entry.block_rows = block_rows(graph_, use_of(entry), sizes_, memory_.block_bytes);
    }
  }

  KeptTensor& kept_of(TensorId id) {
    return *std::find_if(plan_.kept.begin(), plan_.kept.end(),
                         [&](const KeptTensor& k) { return k.tensor == id; });
  }

  void predict() {
    plan_.reserve_bytes = reserve_bytes(graph_, sizes_, memory_) + picture_bytes(graph_, plan_.request);
    const Storage storage = sizes_.storage();
    const bool stay = plan_.weights == WeightResidency::resident;
    const int64_t resident = stay ? resident_weights_bytes(graph_, storage) : 0;
    for (size_t i = 0; i < plan_.passes.size(); ++i) {
      Pass& pass = plan_.passes[i];
      const int64_t brought = pass_weights_bytes(graph_, pass, pass.convolutions, plan_.weights, storage);
      plan_.weights_bytes = std::max(plan_.weights_bytes, resident + brought);
      pass.predicted_peak_bytes = PassSweep(graph_, plan_, i, memory_).peak().bytes;
      plan_.predicted_peak_bytes = std::max(plan_.predicted_peak_bytes, pass.predicted_peak_bytes);
    }
  }

  const Graph& graph_;
  const PlanConfiguration configuration_;
  const MemoryModel& memory_;
  std::vector<BarrierTargets> targets_;
  Sizes sizes_;
  Plan plan_;
};

}  // namespace

bool ends_at_cut_point(const Graph& graph, const Pass& pass) {
  return std::all_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    const bool stores =
        acquires_blocks(step) || step.kind == OpKind::accumulate || step.target == StepTarget::in_place;
    return makes_tile(step) || (stores && graph.tensor(step.tensor).cut_point);
  });
}

PassGoal goal_of(const BarrierTargets& targets, const PassDecision& decision, const Sizes& sizes) {
  PassGoal goal{targets.statistics, decision.keeps,   decision.in_place,
                targets.emits,      fusion_on(sizes), decision.carries_rows};
  for (TensorId id : targets.kept) {
    if (!contains(goal.keeps, id)) goal.keeps.push_back(id);
  }
  return goal;
}

std::vector<Interval> cut_rows(const Graph& graph, const Pass& pass, int64_t length, const Sizes& sizes) {
  const Interval rows = own_rows(sizes, pass.scale.y);
  const int64_t first = first_band_rows(graph, pass, length, rows.length());
  if (first == 0) return {};  // a rank without rows
  const int64_t second = rows.begin + first;
  std::vector<Interval> bands = cut(rows.length() - first, length);
  for (Interval& band : bands) band = {second + band.begin, second + band.end};
  bands.insert(bands.begin(), {rows.begin, second});
  return bands;
}

bool suits_bands(const Graph& graph, const Pass& pass, int64_t length, int64_t grid_rows) {
  return !pass.carries(Axis::y) || (length < grid_rows && length > rows_ahead(graph, pass).rows);
}

Axes<std::vector<Interval>> cut_grid(const Graph& graph, const Pass& pass, const Extent& tile,
                                     const Sizes& sizes) {
  const Extent grid = extent_at(pass.scale, sizes.latent);
  return {cut(grid.t, std::max<int64_t>(tile.t, 1)),
          cut_rows(graph, pass, std::max<int64_t>(tile.y, 1), sizes),
          cut(grid.x, std::max<int64_t>(tile.x, 1))};
}

Extent cut_tile(const Graph& graph, const Pass& pass) {
  Extent tile = longest_tile(pass);
  // With carried rows, the first band is shorter than the tile. If there are only two, both may be.
  if (pass.carries(Axis::y) && pass.tiles.y.size() == 2) {
    const int64_t first = pass.tiles.y.front().length();
    const RowsAhead ahead = rows_ahead(graph, pass);
    if (first > ahead.unit) tile.y = std::max(tile.y, first + ahead.rows);
  }
  return tile;
}

Plan build_plan(const Model& model, const Request& request, const PlanConfiguration& configuration,
                const std::vector<PassDecision>& decisions, const MemoryModel& memory) {
  return Builder(model, request, configuration, memory).run(decisions);
}

Plans build_plans(const Model& model, const Request& request, const PlanConfiguration& configuration,
                  const std::vector<PassDecision>& decisions, const MemoryModel& memory, int32_t ranks) {
  Plans group;
  group.request = request;
  Plan whole;
  whole.request = request;
  const std::vector<Interval> shares = share_rows(sizes_of(model.graph, whole).latent.y, ranks);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    PlanConfiguration own = configuration;
    own.share = {rank, ranks, shares[static_cast<size_t>(rank)]};
    group.plans.push_back(build_plan(model, request, own, decisions, memory));
  }
  group.transfers = row_transfers(model.graph, group.plans);
  group.sent = sent_bytes_of(model.graph, group);
  return group;
}

Plan untiled_plan(const Model& model, const Request& request, ConvolutionAlgorithm convolutions) {
  const Graph& graph = model.graph;
  const std::vector<int32_t> depths = barrier_depths(graph);
  const std::vector<BarrierTargets> targets = barrier_targets(graph);
  std::vector<PassDecision> decisions(targets.size());
  constexpr int64_t kWhole = int64_t{1} << 40;
  std::vector<int32_t> pass_depths;
  for (size_t i = 0; i < targets.size(); ++i) {
    decisions[i].tile = {kWhole, kWhole, kWhole};
    decisions[i].convolutions = convolutions;
    decisions[i].at_cut_point = targets[i].optional();
    pass_depths.push_back(depths[index(any_target(graph, targets[i]))]);
  }
  for (size_t t = 1; t < graph.tensors().size(); ++t) {
    const TensorId id{static_cast<int32_t>(t)};
    const Op& producer = *graph.producer(id);
    if (graph.tensor(id).statistics || (operation(producer.kind).cheap && !graph.tensor(id).cut_point))
      continue;
    const bool read_deeper =
        std::any_of(graph.readers(id).begin(), graph.readers(id).end(),
                    [&](OpId reader) { return depths[index(graph.op(reader).output)] > depths[t]; });
    const auto pass = std::find(pass_depths.begin(), pass_depths.end(), depths[t]);
    if (read_deeper && pass != pass_depths.end())
      decisions[static_cast<size_t>(pass - pass_depths.begin())].keeps.push_back(id);
  }
  Plan plan = build_plan(model, request, {.micro_batch = request.batch}, decisions, {});
  plan.limit_bytes = std::numeric_limits<int64_t>::max();
  return plan;
}

Plan with_halved_tiles(const Model& model, const Plan& plan, const MemoryModel& memory) {
  PlanConfiguration configuration{plan.micro_batch, plan.weights, MemoryTier::scratch};
  const auto halved = [](const Pass& pass) {
    const auto length = [](const std::vector<Interval>& intervals) { return intervals.front().length(); };
    Extent tile = per_axis(length, pass.tiles);
    tile.y = std::max<int64_t>(1, tile.y / 2);
    return tile;
  };
  std::vector<PassDecision> decisions;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    PassDecision decision;
    for (const KeptTensor& entry : plan.kept) {
      if (entry.first_pass != static_cast<int32_t>(i)) continue;
      decision.keeps.push_back(entry.tensor);
      if (entry.in_place_of != TensorId{-1}) decision.in_place.push_back(entry.tensor);
      if (entry.tier != MemoryTier::device) {
        decision.below.push_back(entry.tensor);
        configuration.lower_tier = entry.tier;
      }
    }
    decision.at_cut_point = ends_at_cut_point(model.graph, plan.passes[i]);
    decision.tile = halved(plan.passes[i]);
    decisions.push_back(std::move(decision));
  }
  Plan other = build_plan(model, plan.request, configuration, decisions, memory);
  other.limit_bytes = plan.limit_bytes;
  other.host_limit_bytes = plan.host_limit_bytes;
  other.host_weights_bytes = plan.host_weights_bytes;
  other.scratch_limit_bytes = plan.scratch_limit_bytes;
  other.scratch_folder = plan.scratch_folder;
  return other;
}

}  // namespace headroom
