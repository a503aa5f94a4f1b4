#include "planner/explain/peak.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/short_name.h"
#include "decoder/schedule/build_plan.h"
#include "planner/cost/device_costs.h"
#include "planner/explain/explain.h"
#include "profiler/eager/eager_decode.h"

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

size_t peak_pass(const Plan& plan) {
  const auto highest = std::max_element(
      plan.passes.begin(), plan.passes.end(),
      [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
  return static_cast<size_t>(highest - plan.passes.begin());
}

PlanPeak peak_of_plan(const Plan& plan, const Model& model) {
  return peak_of_plan(plan, model, memory_model_of_plan(plan, model.graph));
}

PlanPeak peak_of_plan(const Plan& plan, const Model& model, const MemoryModel& memory) {
  const Graph& graph = model.graph;
  const size_t number = peak_pass(plan);
  const Pass& pass = plan.passes.at(number);
  const PassSweep sweep(graph, plan, number, memory);
  const Peak peak = sweep.peak();
  const Step& step = pass.steps[peak.point.step];
  std::vector<LiveEntry> live = live_at(plan, graph, number, sweep, peak.point);
  const int64_t beyond = pass.predicted_peak_bytes - peak.bytes;
  if (beyond > 0) {
    live.push_back({graph.tensor(step.tensor).name, MemoryKind::workspace, beyond});
    live = by_size(live);
  }
  return {number,          pass.name, step_text(step, graph), std::max(peak.bytes, pass.predicted_peak_bytes),
          std::move(live), peak.point};
}

std::vector<LiveEntry> by_kind(const std::vector<LiveEntry>& live) {
  std::vector<LiveEntry> kinds = live;
  for (LiveEntry& entry : kinds) entry.name = title_of(entry.kind);
  return by_size(kinds);
}

UntiledPeak untiled_peak(const Model& model, const Request& request, const CostModel& costs) {
  const std::optional<profiler::EagerDecode> eager = profiler::eager_decode(model, request);
  if (!eager) {
    const Plan plan = untiled_plan(model, request);
    return {plan.predicted_peak_bytes +
            reserve_bytes(model.graph, sizes_of(model.graph, plan), costs.memory())};
  }
  UntiledPeak untiled{eager->peak_bytes, true, model.graph.op(eager->peak_layer).name};
  for (const profiler::EagerTensor& tensor : eager->peak_live)
    untiled.live.push_back({tensor.name, tensor.bytes});
  return untiled;
}

nlohmann::json to_json(const UntiledPeak& untiled) {
  nlohmann::json out{{"peak_bytes", untiled.bytes}, {"by_diffusers", untiled.by_diffusers}};
  if (!untiled.by_diffusers) return out;
  out["layer"] = untiled.layer;
  out["live"] = nlohmann::json::array();
  for (const UntiledTensor& tensor : untiled.live)
    out["live"].push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
  return out;
}

std::string above_untiled_remark(const Plan& plan, const Model& model) {
  const Request& request = plan.request;
  if (!device_record(request.device).is_host || request.dtype == Dtype::fp32 || !plan.share.alone())
    return "";
  const UntiledPeak untiled = untiled_peak(model, request, CostModel(model.graph, request.device));
  if (plan.predicted_peak_bytes <= untiled.bytes) return "";
  return "more than the untiled decode (" + format_bytes(untiled.bytes) +
         "): on the CPU tiles and weights are fp32, only kept tensors are in 16 bits. A smaller limit takes "
         "less";
}

std::string untiled_line(const UntiledPeak& untiled) {
  if (!untiled.by_diffusers) return "untiled: about " + format_bytes(untiled.bytes);
  return "untiled, by diffusers: " + format_bytes(untiled.bytes) + " at " + short_name(untiled.layer);
}

}  // namespace headroom::planner
