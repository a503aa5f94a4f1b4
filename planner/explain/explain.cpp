#include "planner/explain/explain.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "decoder/base/short_name.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/window.h"
#include "planner/explain/analyze.h"
#include "planner/explain/peak.h"

namespace headroom::planner {
namespace {

using nlohmann::json;

std::string halo_text(const Halo& halo) {
  if (halo == Halo{}) return "";
  if (halo.before == halo.after && halo.before.y == halo.before.x)
    return " halo " + std::to_string(halo.before.y);
  return " halo " + std::to_string(halo.before.y) + "+" + std::to_string(halo.after.y) + " rows, " +
         std::to_string(halo.before.x) + "+" + std::to_string(halo.after.x) + " columns";
}

bool written_in(const Plan& plan, TensorId id, size_t pass) {
  return std::any_of(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& k) {
    return k.tensor == id && k.first_pass == static_cast<int32_t>(pass);
  });
}

const KeptTensor* kept_of(const Plan& plan, TensorId id) {
  const auto kept =
      std::find_if(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& k) { return k.tensor == id; });
  return kept == plan.kept.end() ? nullptr : &*kept;
}

size_t tile_count(const Pass& pass) {
  return pass.tiles.t.size() * pass.tiles.y.size() * pass.tiles.x.size();
}

std::string first_extent(const std::vector<Interval>& intervals) {
  return std::to_string(intervals.empty() ? 0 : intervals.front().length());
}

/// Height of a full band. With carried rows the first band is shorter.
std::string rows_of_tiles(const Pass& pass) {
  return pass.carries_rows ? std::to_string(longest_tile(pass).y) : first_extent(pass.tiles.y);
}

}  // namespace

int64_t most_bytes_in(MemoryTier tier, const Plan& plan, const Graph& graph) {
  int64_t most = 0;
  for (int32_t pass = 0; pass < static_cast<int32_t>(plan.passes.size()); ++pass) {
    int64_t live = 0;
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tier == tier && entry.first_pass <= pass && pass <= entry.last_pass)
        live += kept_bytes(graph, plan, entry);
    }
    most = std::max(most, live);
  }
  return most;
}

int64_t window_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept, size_t number) {
  if (kept.tier == MemoryTier::device) return kept_bytes(graph, plan, kept);
  const Pass& pass = plan.passes[number];
  TensorUse use = use_of(kept);
  use.written = kept.first_pass == static_cast<int32_t>(number);
  const Window window = window_of(graph, pass, use, sizes_of(graph, plan));
  int64_t most = 0;
  for (size_t band = 0; band < pass.tiles.y.size(); ++band)
    most = std::max(most, window.bytes_after_store(band));
  return most;
}

int64_t window_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept) {
  int64_t most = 0;
  for (int32_t pass = kept.first_pass; pass <= kept.last_pass; ++pass) {
    most = std::max(most, window_bytes(graph, plan, kept, static_cast<size_t>(pass)));
  }
  return most;
}

const char* words_of(WeightResidency residency) {
  return residency == WeightResidency::resident ? "throughout" : "per pass";
}

std::string gap_text(const Plan& plan) {
  if (plan.optimal) return "optimal";
  if (plan.bound_seconds <= 0) return "not proven optimal";
  const double percent = 100 * (plan.predicted_seconds / plan.bound_seconds - 1);
  if (percent < 0.05) return "fastest to within 0.1 %";  // would read 0.0 %
  char text[64];
  std::snprintf(text, sizeof text, "at most %.1f %% above the best", percent);
  return text;
}

std::string tiles_text(const Pass& pass) {
  const size_t tiles = tile_count(pass);
  return std::to_string(tiles) + (tiles == 1 ? " tile of " : " tiles of ") + first_extent(pass.tiles.x) +
         "x" + rows_of_tiles(pass) +
         (pass.tiles.t.size() > 1 ? ", " + first_extent(pass.tiles.t) + " frames" : "") +
         (pass.carries_rows ? ", rows carried" : "");
}

std::string short_tiles_text(const Pass& pass) {
  return std::to_string(tile_count(pass)) + " × " + first_extent(pass.tiles.x) + "x" + rows_of_tiles(pass) +
         (pass.tiles.t.size() > 1 ? "x" + first_extent(pass.tiles.t) : "") +
         (pass.carries_rows ? ", rows carried" : "");
}

std::set<TensorId> tensors_read(const Plan& plan, const Graph& graph, size_t pass) {
  std::set<TensorId> read;
  for (const Step& step : plan.passes[pass].steps) {
    for (const Operand& operand : step.inputs) {
      const bool own = operand.tensor != graph.input() && written_in(plan, operand.tensor, pass);
      if (operand.step == -1 && !graph.tensor(operand.tensor).statistics && !own) read.insert(operand.tensor);
    }
  }
  return read;
}

std::string step_text(const Step& step, const Graph& graph) {
  return std::string(name_of(step.kind)) + " " + short_name(graph.tensor(step.tensor).name) +
         halo_text(step.halo);
}

std::string direct_names(const Pass& pass, const Graph& graph) {
  std::string names;
  for (const OpId op : pass.convolutions.direct)
    names += (names.empty() ? "" : ", ") + std::string(short_name(graph.op(op).name));
  return names;
}

namespace {

json peak_json(const PlanPeak& peak) {
  json live = json::array();
  for (const LiveEntry& entry : peak.live)
    live.push_back({{"name", entry.name}, {"kind", key_of(entry.kind)}, {"bytes", entry.bytes}});
  return {{"pass", peak.pass},
          {"name", peak.pass_name},
          {"step", peak.point.step},
          {"bytes", peak.bytes},
          {"live", std::move(live)}};
}

}  // namespace

json explain_json(const Plan& plan, const Model& model) {
  const Graph& graph = model.graph;
  json passes = json::array();
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    json reads = json::array(), steps = json::array(), keeps = json::array();
    for (TensorId id : tensors_read(plan, graph, i)) {
      const KeptTensor* kept = kept_of(plan, id);
      reads.push_back({{"tensor", graph.tensor(id).name},
                       {"tier", name_of(kept == nullptr ? MemoryTier::device : kept->tier)}});
      if (kept == nullptr) continue;
      reads.back()["window_bytes"] = window_bytes(graph, plan, *kept, i);
      reads.back()["last_time"] = kept->last_pass == static_cast<int32_t>(i);
    }
    for (const Step& step : pass.steps) {
      steps.push_back({{"kind", name_of(step.kind)}, {"tensor", graph.tensor(step.tensor).name}});
    }
    for (const KeptTensor& entry : plan.kept) {
      if (entry.first_pass != static_cast<int32_t>(i)) continue;
      keeps.push_back({{"tensor", graph.tensor(entry.tensor).name},
                       {"tier", name_of(entry.tier)},
                       {"bytes", kept_bytes(graph, plan, entry)},
                       {"window_bytes", window_bytes(graph, plan, entry)},
                       {"last_pass", entry.last_pass}});
      if (entry.rows) keeps.back()["rows"] = {entry.rows->begin, entry.rows->end};
      if (entry.in_place_of != TensorId{-1})
        keeps.back()["in_place_of"] = graph.tensor(entry.in_place_of).name;
    }
    passes.push_back({{"name", pass.name},
                      {"peak_bytes", pass.predicted_peak_bytes},
                      {"weights_bytes", device_weights_bytes(graph, plan, pass)},
                      {"convolutions", name_of(pass.convolutions.algorithm)},
                      {"seconds", pass.predicted_seconds},
                      {"flops", pass.predicted_flops},
                      {"tiles", {pass.tiles.t.size(), pass.tiles.y.size(), pass.tiles.x.size()}},
                      {"reads", std::move(reads)},
                      {"steps", std::move(steps)},
                      {"keeps", std::move(keeps)}});
    if (pass.carries_rows) passes.back()["carries_rows"] = true;
    for (const OpId op : pass.convolutions.direct)
      passes.back()["direct_convolutions"].push_back(graph.op(op).name);
  }
  json gap;  // null if no bound is known
  if (plan.optimal || plan.bound_seconds > 0) {
    gap = plan.bound_seconds > 0 ? std::max(0.0, plan.predicted_seconds / plan.bound_seconds - 1) : 0.0;
  }
  return {{"model", plan.request.model},
          {"dtype", name_of(plan.request.dtype)},
          {"tf32", name_of(plan.request.tf32)},
          {"peak", plan.passes.empty() ? json(nullptr) : peak_json(peak_of_plan(plan, model))},
          {"longest_passes", longest_passes(plan)},
          {"device", name_of(plan.request.device)},
          {"limit_bytes", plan.limit_bytes},
          {"peak_bytes", plan.predicted_peak_bytes},
          {"seconds", plan.predicted_seconds},
          {"bound_seconds", plan.bound_seconds},
          {"gap", std::move(gap)},
          {"optimal", plan.optimal},
          {"weights", name_of(plan.weights)},
          {"weights_bytes", plan.weights_bytes},
          {"host_bytes", most_bytes_in(MemoryTier::host, plan, graph)},
          {"host_weights_bytes", plan.host_weights_bytes},
          {"scratch_bytes", most_bytes_in(MemoryTier::scratch, plan, graph)},
          {"passes", std::move(passes)}};
}

}  // namespace headroom::planner
