#include <algorithm>
#include <map>
#include <numeric>

#include "decoder/lowering/memory.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/memory_costs.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostMoments = 200'000;
constexpr uint32_t kLoading = UINT32_MAX;  ///< in place of a pass, before the first one
/// Of the time of all steps with FLOPs: what a step without any, a copy, takes beside them.
constexpr double kCopyShare = 0.01;
constexpr int64_t kMostThreads = 1024;

/// Where a sweep stands. The tiles of a band after its first find the blocks there that the first one took.
struct SweepPoint {
  uint32_t pass = 0;
  uint32_t band = 0;
  uint32_t step = 0;
  bool later_tile = false;
};

Extent longest_tile(const Pass& pass) {
  return per_axis(
      [](const std::vector<Interval>& intervals) {
        int64_t longest = 0;
        for (const Interval& interval : intervals) longest = std::max(longest, interval.length());
        return longest;
      },
      pass.tiles);
}

int64_t resident_bytes(const PlanDocument& document) {
  const bool resident = document.plan.weights == WeightResidency::resident;
  const Storage storage = storage_of(document.plan.request);
  return resident ? allocated_bytes(resident_weights_bytes(document.model.graph, storage), storage.device)
                  : 0;
}

int64_t brought_bytes(const PlanDocument& document, const Pass& pass) {
  const Plan& plan = document.plan;
  return allocated_bytes(pass_weights_bytes(document.model.graph, pass, pass.convolutions, plan.weights,
                                            storage_of(plan.request)),
                         plan.request.device);
}

/// What a plan counts beside everything that it names: on the CPU growth outside the pool, on a GPU gaps of
/// its reservation.
LiveEntry reserve_of(const Plan& plan) {
  if (plan.request.device == DeviceKind::cuda) return {"gaps", MemoryKind::slack, plan.reserve_bytes};
  return {"reserve", MemoryKind::outside, plan.reserve_bytes};
}

/// `use` of the kinds that every plan has, and the reserve.
MemoryUse with_reserve(MemoryUse use, const Plan& plan) {
  const LiveEntry reserve = reserve_of(plan);
  use[static_cast<size_t>(reserve.kind)] += reserve.bytes;
  return use;
}

/// One pass of a plan: what is on the device at each band and step, as decoder/lowering/memory.h counts it.
class PassMemory {
 public:
  PassMemory(const PlanDocument& document, size_t number, const MemoryModel& memory)
      : plan_(document.plan),
        graph_(document.model.graph),
        pass_(plan_.passes[number]),
        memory_(memory),
        sizes_(sizes_of(graph_, plan_)),
        tile_(longest_tile(pass_)),
        resident_bytes_(resident_bytes(document)),
        brought_bytes_(brought_bytes(document, pass_)),
        latent_bytes_(latent_bytes(graph_, sizes_)),
        state_bytes_(device_state_bytes(graph_, sizes_)) {
    for (const MaterialisedInPass& entry : materialised_in(plan_, number)) {
      const auto store = std::find_if(pass_.steps.begin(), pass_.steps.end(), [&](const Step& step) {
        return step.kind == StepKind::store && step.tensor == entry.materialised->tensor;
      });
      // What is written without a store is in the blocks of the tensor that it replaces.
      if (entry.written && store == pass_.steps.end()) continue;
      materialised_.push_back({entry.materialised->tensor, LiveBlocks(graph_, pass_, entry, sizes_),
                               static_cast<size_t>(store - pass_.steps.begin())});
    }
  }

  MemoryUse use(const SweepPoint& at) const {
    const Band& band = band_of(at);
    int64_t materialised = 0;
    for (const MaterialisedTensor& tensor : materialised_) materialised += bytes_of(tensor, at);
    return with_reserve({resident_bytes_ + brought_bytes_, latent_bytes_ + state_bytes_, materialised,
                         band.tile_bytes[at.step], band.workspace_bytes[at.step]},
                        plan_);
  }

  std::vector<LiveEntry> live(const SweepPoint& at) const {
    std::vector<LiveEntry> entries{
        {title_of(MemoryKind::weights), MemoryKind::weights, resident_bytes_},
        {resident_bytes_ > 0 ? "kernels in Winograd form" : title_of(MemoryKind::weights), MemoryKind::weights,
         brought_bytes_},
        {tensor_name(graph_.latent()), MemoryKind::latent, latent_bytes_},
        {"statistics", MemoryKind::latent, state_bytes_},
        reserve_of(plan_),
        {tensor_name(pass_.steps[at.step].tensor), MemoryKind::workspace,
         band_of(at).workspace_bytes[at.step]}};
    for (const MaterialisedTensor& tensor : materialised_)
      entries.push_back({tensor_name(tensor.id), MemoryKind::materialised, bytes_of(tensor, at)});
    const std::vector<size_t> last = last_uses();
    for (size_t made = 0; made < pass_.steps.size(); ++made) {
      if (lives(made, last[made], at.step))
        entries.push_back({tensor_name(pass_.steps[made].tensor), MemoryKind::tile, bytes_of(made, at)});
    }
    return by_size(entries);
  }

  /// What part of the time of its tile a step takes; all of them together take 1.
  double share(const SweepPoint& at) const { return band_of(at).shares[at.step]; }

 private:
  struct MaterialisedTensor {
    TensorId id{-1};
    LiveBlocks blocks;
    size_t stored_by;  ///< the step that does; of no matter where an earlier pass did
  };
  /// What bands of one height have in common, by step.
  struct Band {
    std::vector<int64_t> tile_bytes, workspace_bytes;
    std::vector<double> shares;
  };

  const std::string& tensor_name(TensorId id) const { return graph_.tensor(id).name; }

  static int64_t bytes_of(const MaterialisedTensor& tensor, const SweepPoint& at) {
    return at.later_tile || at.step >= tensor.stored_by ? tensor.blocks.after_store(at.band)
                                                        : tensor.blocks.before_store(at.band);
  }

  Extent tile_of(const SweepPoint& at) const { return {tile_.t, pass_.tiles.y[at.band].length(), tile_.x}; }

  const Band& band_of(const SweepPoint& at) const {
    const Extent tile = tile_of(at);
    const auto [entry, is_new] = bands_.try_emplace(tile.y);
    Band& band = entry->second;
    if (!is_new) return band;
    band.tile_bytes = step_bytes(graph_, pass_, tile, sizes_, {});
    band.workspace_bytes = step_bytes(graph_, pass_, tile, sizes_, memory_);
    double flops = 0;
    for (size_t i = 0; i < pass_.steps.size(); ++i) {
      band.workspace_bytes[i] -= band.tile_bytes[i];
      const Step& step = pass_.steps[i];
      const Extent extent = largest_tile(graph_, pass_, step, tile, sizes_);
      band.shares.push_back(step.op == OpId{-1}
                                ? 0
                                : double(positions(extent)) *
                                      flops_per_position(graph_, graph_.op(step.op), sizes_.latent));
      flops += band.shares.back();
    }
    double sum = 0;
    for (double& share : band.shares) {
      if (share <= 0) share = flops > 0 ? flops * kCopyShare : 1;
      sum += share;
    }
    for (double& share : band.shares) share /= sum;
    return band;
  }

  /// The last step that reads the tile of each step, itself where none does.
  std::vector<size_t> last_uses() const {
    std::vector<size_t> last(pass_.steps.size());
    std::iota(last.begin(), last.end(), size_t{0});
    for (size_t i = 0; i < pass_.steps.size(); ++i) {
      for (const Operand& operand : pass_.steps[i].inputs) {
        if (operand.step >= 0) last[static_cast<size_t>(operand.step)] = i;
      }
    }
    return last;
  }

  /// Whether step `made` makes a tile, and it is there while `step` runs: an add's is its operand's until
  /// then.
  bool lives(size_t made, size_t last_use, size_t step) const {
    const StepKind kind = pass_.steps[made].kind;
    return makes_tile(kind) && (kind == StepKind::add ? made < step : made <= step) && step <= last_use;
  }

  int64_t bytes_of(size_t made, const SweepPoint& at) const {
    const Step& step = pass_.steps[made];
    return tile_bytes(graph_, step.tensor, largest_tile(graph_, pass_, step, tile_of(at), sizes_), sizes_);
  }

  const Plan& plan_;
  const Graph& graph_;
  const Pass& pass_;
  const MemoryModel& memory_;
  const Sizes sizes_;
  const Extent tile_;
  const int64_t resident_bytes_, brought_bytes_, latent_bytes_, state_bytes_;
  std::vector<MaterialisedTensor> materialised_;
  mutable std::map<int64_t, Band> bands_;  ///< by height
};

/// The model that the plan's peaks were counted by. Workspace depends on the number of threads, which a plan
/// does not name; where it was made for another machine, its peaks tell.
MemoryModel memory_model_of(const PlanDocument& document) {
  const Graph& graph = document.model.graph;
  const Plan& plan = document.plan;
  if (plan.request.device == DeviceKind::cuda) return planner::cuda_memory_model(graph);
  const Sizes sizes = sizes_of(graph, plan);
  const int64_t beside = resident_bytes(document) + latent_bytes(graph, sizes) +
                         device_state_bytes(graph, sizes) + plan.reserve_bytes;
  double planned = 0;  // sums of any peaks that a file may have
  for (const Pass& pass : plan.passes) planned += double(pass.predicted_peak_bytes);
  const auto counted = [&](const MemoryModel& memory) {
    double sum = 0;
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const Pass& pass = plan.passes[i];
      sum +=
          double(beside + brought_bytes(document, pass) +
                 pass_peak_bytes(graph, pass, materialised_in(plan, i), longest_tile(pass), sizes, memory));
    }
    return sum;
  };
  MemoryModel here = planner::cpu_memory_model(graph);
  if (counted(here) == planned) return here;
  int64_t least = 1, most = kMostThreads;
  while (least < most) {
    const int64_t threads = (least + most) / 2;
    if (counted(planner::cpu_memory_model(graph, threads)) < planned) {
      least = threads + 1;
    } else {
      most = threads;
    }
  }
  MemoryModel there = planner::cpu_memory_model(graph, least);
  return counted(there) == planned ? there : here;
}

/// Seconds of each pass; of plans without times by FLOPs, one second in all.
std::vector<double> seconds_of_passes(const PlanDocument& document) {
  const Graph& graph = document.model.graph;
  const Plan& plan = document.plan;
  std::vector<double> seconds, flops;
  for (const Pass& pass : plan.passes) {
    seconds.push_back(pass.predicted_seconds);
    flops.push_back(pass.predicted_flops > 0
                        ? pass.predicted_flops
                        : planner::pass_flops(graph, pass, longest_tile(pass), sizes_of(graph, plan)));
  }
  const auto sum = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  if (sum(seconds) > 0) return seconds;
  if (sum(flops) <= 0) flops.assign(flops.size(), 1);
  const double all = sum(flops), whole = plan.predicted_seconds > 0 ? plan.predicted_seconds : 1;
  for (double& share : flops) share *= whole / all;
  return flops;
}

size_t tiles_of_band(const Pass& pass) {
  return pass.tiles.t.size() * pass.tiles.x.size();
}

/// More moments than anybody could look at: each band of tiles shows its highest step alone.
bool shows_every_step(const Plan& plan) {
  size_t moments = 0;
  for (const Pass& pass : plan.passes)
    moments += pass.tiles.y.size() * pass.steps.size() * (tiles_of_band(pass) > 1 ? 2 : 1);
  return moments <= kMostMoments;
}

/// Puts moments one after another.
struct Sweep {
  double now = 0;
  std::vector<double> seconds;
  std::vector<MemoryUse> use;
  std::vector<SweepPoint> points;
  std::vector<Span> passes;

  void put(const SweepPoint& point, const MemoryUse& bytes, double lasting) {
    seconds.push_back(now);
    use.push_back(bytes);
    points.push_back(point);
    now += lasting;
  }

  void put_band(const PassMemory& memory, const Pass& pass, SweepPoint point, double lasting,
                bool every_step) {
    const size_t tiles = tiles_of_band(pass);
    SweepPoint highest = point;
    for (size_t tile = 0; tile < std::min<size_t>(tiles, 2); ++tile) {
      point.later_tile = tile > 0;
      const double share = tile == 0 ? 1 / double(tiles) : 1 - 1 / double(tiles);
      for (point.step = 0; point.step < pass.steps.size(); ++point.step) {
        if (every_step) {
          put(point, memory.use(point), lasting * share * memory.share(point));
        } else if (total(memory.use(point)) > total(memory.use(highest))) {
          highest = point;
        }
      }
    }
    if (!every_step && !pass.steps.empty()) put(highest, memory.use(highest), lasting);
  }
};

}  // namespace

Timeline predicted_timeline(DocumentPtr document) {
  const PlanDocument& planned = std::get<PlanDocument>(document->contents);
  const Plan& plan = planned.plan;
  const auto memory = std::make_shared<const MemoryModel>(planner::memory_model_of(planned));
  const std::vector<double> pass_seconds = seconds_of_passes(planned);
  const bool every_step = shows_every_step(plan);
  const MemoryUse loading = with_reserve({resident_bytes(planned)}, plan);
  Sweep sweep;
  // What no pass takes is loading weights that stay.
  const double before =
      plan.predicted_seconds - std::accumulate(pass_seconds.begin(), pass_seconds.end(), 0.0);
  if (before > plan.predicted_seconds * 1e-9) sweep.put({.pass = kLoading}, loading, before);
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    const PassMemory pass_memory(planned, i, *memory);
    const double begin = sweep.now;
    double rows = 0;
    for (const Interval& band : pass.tiles.y) rows += double(band.length());
    for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
      const SweepPoint point{static_cast<uint32_t>(i), static_cast<uint32_t>(band)};
      sweep.put_band(pass_memory, pass, point, pass_seconds[i] * double(pass.tiles.y[band].length()) / rows,
                     every_step);
    }
    sweep.passes.push_back({begin, sweep.now, pass.name});
  }
  if (sweep.seconds.empty()) sweep.put({.pass = kLoading}, loading, 0);
  const auto live = [document, memory, points = std::move(sweep.points)](size_t i) {
    const auto& of = std::get<PlanDocument>(document->contents);
    const SweepPoint& at = points[i];
    if (at.pass == kLoading) {
      return by_size(
          {{title_of(MemoryKind::weights), MemoryKind::weights, resident_bytes(of)}, reserve_of(of.plan)});
    }
    return PassMemory(of, at.pass, *memory).live(at);
  };
  return {std::move(sweep.seconds), std::move(sweep.use),    sweep.now,
          plan.limit_bytes,         std::move(sweep.passes), live};
}

}  // namespace headroom::reports
