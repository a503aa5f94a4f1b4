#include "reports/figures/plan_memory.h"

#include "planner/cost/memory_costs.h"

namespace headroom::reports {
namespace {

constexpr int64_t kMostThreads = 1024;

/// What a plan counts beside everything that it names: on the CPU growth outside the pool, on a GPU gaps of
/// its reservation.
LiveEntry reserve_entry(int64_t bytes, DeviceKind device) {
  if (device == DeviceKind::cuda) return {"gaps", MemoryKind::slack, bytes};
  return {"reserve", MemoryKind::outside, bytes};
}

}  // namespace

MemoryModel memory_model_of(const PlanDocument& document) {
  const Graph& graph = document.model.graph;
  const Plan& plan = document.plan;
  if (plan.request.device == DeviceKind::cuda) return planner::cuda_memory_model(graph);
  double planned = 0;  // sums of any peaks that a file may have
  for (const Pass& pass : plan.passes) planned += double(pass.predicted_peak_bytes);
  const auto counted = [&](const MemoryModel& memory) {
    double sum = 0;
    for (size_t i = 0; i < plan.passes.size(); ++i)
      sum += double(PassSweep(graph, plan, i, memory).peak().bytes);
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

MemoryUse use_of(const LiveBytes& live, DeviceKind device) {
  MemoryUse use{live.resident_weights + live.pass_weights, live.latent + live.state, live.materialised,
                live.step.tiles + live.step.carried, live.step.workspace};
  const LiveEntry reserve = reserve_entry(live.reserve, device);
  use[static_cast<size_t>(reserve.kind)] += reserve.bytes;
  return use;
}

std::vector<LiveEntry> entries_before_passes(const PlanDocument& document) {
  const LiveBytes live = live_throughout(document.model.graph, document.plan);
  return by_size({{title_of(MemoryKind::weights), MemoryKind::weights, live.resident_weights},
                  reserve_entry(live.reserve, document.plan.request.device)});
}

std::vector<LiveEntry> entries_at(const PlanDocument& document, size_t pass, const PassSweep& sweep,
                                  const SweepPoint& point) {
  const Graph& graph = document.model.graph;
  const auto name = [&](TensorId id) { return graph.tensor(id).name; };
  const LiveBytes live = sweep.live(point);
  const char* weights = title_of(MemoryKind::weights);
  std::vector<LiveEntry> entries{{weights, MemoryKind::weights, live.resident_weights},
                                 {live.resident_weights > 0 ? "kernels in Winograd form" : weights,
                                  MemoryKind::weights, live.pass_weights},
                                 {name(graph.latent()), MemoryKind::latent, live.latent},
                                 {"statistics", MemoryKind::latent, live.state},
                                 reserve_entry(live.reserve, document.plan.request.device),
                                 {name(document.plan.passes[pass].steps[point.step].tensor),
                                  MemoryKind::workspace, live.step.workspace}};
  for (const PassSweep::LiveTensor& tensor : sweep.materialised(point))
    entries.push_back({name(tensor.tensor), MemoryKind::materialised, tensor.bytes});
  for (const PassSweep::LiveTensor& tensor : sweep.tiles(point))
    entries.push_back({name(tensor.tensor), MemoryKind::tile, tensor.bytes});
  return by_size(entries);
}

}  // namespace headroom::reports
