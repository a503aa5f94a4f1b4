#include "planner/explain.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "decoder/cli/arguments.h"
#include "decoder/plan/memory.h"

namespace headroom {
namespace {

std::string extent_text(const Pass& pass) {
  const auto longest = [](const std::vector<Interval>& intervals) { return intervals.front().length(); };
  const size_t tiles = pass.tiles.t.size() * pass.tiles.y.size() * pass.tiles.x.size();
  return std::to_string(tiles) + (tiles == 1 ? " tile of " : " tiles of ") + std::to_string(longest(pass.tiles.x)) + "x" +
         std::to_string(longest(pass.tiles.y));
}

std::string halo_text(const Halo& halo) {
  if (halo == Halo{}) return "";
  if (halo.before == halo.after && halo.before.y == halo.before.x) return " halo " + std::to_string(halo.before.y);
  return " halo " + std::to_string(halo.before.y) + "+" + std::to_string(halo.after.y) + " rows, " +
         std::to_string(halo.before.x) + "+" + std::to_string(halo.after.x) + " columns";
}

std::string kept_text(const Kept& entry, const Graph& graph, const Sizes& sizes) {
  const int64_t bytes = static_cast<int64_t>(entry.blocks.size()) * entry.block_rows * row_bytes(graph, entry.tensor, sizes);
  std::string text = graph.tensor(entry.tensor).name + "  " + format_bytes(bytes) + " in " +
                     std::to_string(entry.blocks.size()) + " blocks of " + std::to_string(entry.block_rows) + " rows, until pass " +
                     std::to_string(entry.last_pass);
  if (entry.in_place_of != TensorId{-1}) text += ", in place of " + graph.tensor(entry.in_place_of).name;
  return text;
}

bool written_in(const Plan& plan, TensorId id, size_t pass) {
  return std::any_of(plan.kept.begin(), plan.kept.end(), [&](const Kept& k) {
    return k.tensor == id && k.first_pass == static_cast<int32_t>(pass);
  });
}

/// Lines of one node's children, drawn as branches.
void branches(std::string& text, const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size(); ++i) text += (i + 1 < lines.size() ? "   ├─ " : "   └─ ") + lines[i] + "\n";
}

}  // namespace

std::string proof_text(const Plan& plan) {
  if (plan.optimal) return "optimal";
  if (plan.bound_seconds <= 0) return "not proven optimal";
  char text[64];
  std::snprintf(text, sizeof text, "at most %.1f %% above the best", 100 * (plan.predicted_seconds / plan.bound_seconds - 1));
  return text;
}

std::string explain(const Plan& plan, const Model& model) {
  const Graph& graph = model.graph;
  const Sizes sizes = sizes_of(graph, plan);
  const Request& request = plan.request;
  double flops = 0;
  for (const Pass& pass : plan.passes) flops += pass.predicted_flops;
  char line[256];
  std::snprintf(line, sizeof line, "%s %ldx%ld, batch %ld (%ld at a time), %s: %zu passes, %.0f GFLOP\n", request.model.c_str(),
                request.width_pixels, request.height_pixels, request.batch, plan.slice, name_of(request.dtype),
                plan.passes.size(), flops / 1e9);
  std::string text = line;
  text += "peak " + format_bytes(plan.predicted_peak_bytes) + " of " + format_bytes(plan.limit_bytes) + " (weights " +
          format_bytes(plan.weights_bytes) + ", reserve " + format_bytes(plan.reserve_bytes) + "), time " +
          format_seconds(plan.predicted_seconds) + (plan.assumed ? " by assumed costs" : " by the profile") +
          ", " + proof_text(plan) + (plan.exact ? ", exact\n" : ", approximate\n");
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    std::snprintf(line, sizeof line, "Pass %zu  %s  (peak %s, time %s, %.1f GFLOP, %s)\n", i, pass.name.c_str(),
                  format_bytes(pass.predicted_peak_bytes).c_str(), format_seconds(pass.predicted_seconds).c_str(),
                  pass.predicted_flops / 1e9, extent_text(pass).c_str());
    text += line;
    std::vector<std::string> lines;
    std::set<TensorId> read;
    for (const Step& step : pass.steps) {
      for (const Operand& operand : step.inputs) {
        const bool own = operand.tensor != graph.latent() && written_in(plan, operand.tensor, i);
        if (operand.step == -1 && !graph.tensor(operand.tensor).statistics && !own) read.insert(operand.tensor);
      }
    }
    for (TensorId id : read) {
      const auto kept = std::find_if(plan.kept.begin(), plan.kept.end(), [&](const Kept& k) { return k.tensor == id; });
      const bool drained = kept != plan.kept.end() && kept->last_pass == static_cast<int32_t>(i);
      lines.push_back("read " + graph.tensor(id).name + (drained ? "  (for the last time)" : ""));
    }
    for (const Step& step : pass.steps) {
      lines.push_back(std::string(name_of(step.kind)) + " " + graph.tensor(step.tensor).name + halo_text(step.halo));
    }
    for (const Kept& entry : plan.kept) {
      if (entry.first_pass == static_cast<int32_t>(i)) lines.push_back("keep " + kept_text(entry, graph, sizes));
    }
    branches(text, lines);
  }
  return text;
}

}  // namespace headroom
