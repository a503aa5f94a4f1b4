#include "planner/explain/live_memory.h"

#include <algorithm>
#include <map>

#include "planner/cost/memory_costs.h"

namespace headroom::planner {
namespace {

constexpr int64_t kMostThreads = 1024;

LiveEntry picture_entry(int64_t bytes) {
  return {kPictureEntry, MemoryKind::outside, bytes};
}

}  // namespace

bool is_of_tensor(const LiveEntry& entry) {
  return entry.kind == MemoryKind::kept || entry.kind == MemoryKind::tile ||
         entry.kind == MemoryKind::workspace;
}

std::vector<LiveEntry> by_size(const std::vector<LiveEntry>& entries) {
  std::map<std::pair<MemoryKind, std::string>, int64_t> sums;
  for (const LiveEntry& entry : entries) sums[{entry.kind, entry.name}] += entry.bytes;
  std::vector<LiveEntry> sorted;
  for (const auto& [key, bytes] : sums) {
    if (bytes != 0) sorted.push_back({key.second, key.first, bytes});
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LiveEntry& a, const LiveEntry& b) { return a.bytes > b.bytes; });
  return sorted;
}

LiveEntry reserve_entry(int64_t bytes, const DeviceRecord& device) {
  if (device.places_allocations) return {"gaps", MemoryKind::slack, bytes};
  return {"reserve", MemoryKind::outside, bytes};
}

MemoryModel memory_model_of_plan(const Plan& plan, const Graph& graph) {
  if (!device_record(plan.request.device).is_host) return cuda_memory_model(graph);
  double planned = 0;  // double, because peaks in a file may overflow an integer sum
  for (const Pass& pass : plan.passes) planned += double(pass.predicted_peak_bytes);
  const auto counted = [&](const MemoryModel& memory) {
    double sum = 0;
    for (size_t i = 0; i < plan.passes.size(); ++i)
      sum += double(PassSweep(graph, plan, i, memory).peak().bytes);
    return sum;
  };
  MemoryModel here = cpu_memory_model(graph);
  if (counted(here) == planned) return here;
  int64_t least = 1, most = kMostThreads;
  while (least < most) {
    const int64_t threads = (least + most) / 2;
    if (counted(cpu_memory_model(graph, threads)) < planned) {
      least = threads + 1;
    } else {
      most = threads;
    }
  }
  MemoryModel there = cpu_memory_model(graph, least);
  return counted(there) == planned ? there : here;
}

std::vector<LiveEntry> live_before_passes(const Plan& plan, const Graph& graph) {
  const LiveBytes live = live_throughout(graph, plan);
  return by_size({{title_of(MemoryKind::weights), MemoryKind::weights, live.resident_weights},
                  picture_entry(live.picture),
                  reserve_entry(live.reserve, device_record(plan.request.device))});
}

std::vector<LiveEntry> live_at(const Plan& plan, const Graph& graph, size_t pass, const PassSweep& sweep,
                               const SweepPoint& point) {
  const auto name = [&](TensorId id) { return graph.tensor(id).name; };
  const LiveBytes live = sweep.live(point);
  const char* weights = title_of(MemoryKind::weights);
  std::vector<LiveEntry> entries{
      {weights, MemoryKind::weights, live.resident_weights},
      {live.resident_weights > 0 ? "kernels in Winograd form" : weights, MemoryKind::weights,
       live.pass_weights},
      {name(graph.input()), MemoryKind::latent, live.latent},
      {"statistics", MemoryKind::latent, live.state},
      picture_entry(live.picture),
      reserve_entry(live.reserve, device_record(plan.request.device)),
      {name(plan.passes[pass].steps[point.step].tensor), MemoryKind::workspace, live.step.workspace}};
  for (const PassSweep::LiveTensor& tensor : sweep.kept(point))
    entries.push_back({name(tensor.tensor), MemoryKind::kept, tensor.bytes});
  for (const PassSweep::LiveTensor& tensor : sweep.tiles(point))
    entries.push_back({name(tensor.tensor), MemoryKind::tile, tensor.bytes});
  return by_size(entries);
}

}  // namespace headroom::planner
