#include "reports/figures/peak.h"

#include <algorithm>
#include <set>

#include "decoder/lowering/memory.h"
#include "planner/explain/explain.h"
#include "planner/search/why_not.h"

namespace headroom::reports {
namespace {

/// The pass that runs at a moment of a plan's timeline.
size_t pass_at(const Timeline& timeline, double seconds) {
  const std::vector<Span>& spans = timeline.passes();
  const auto after = std::upper_bound(spans.begin(), spans.end(), seconds,
                                      [](double at, const Span& span) { return at < span.begin; });
  return after == spans.begin() ? 0 : static_cast<size_t>(after - spans.begin()) - 1;
}

/// The step of a pass that runs while this is live: the tiles that it reads are there, all tiles together
/// take what they take during that step, and workspace is named after what it makes. Where no step is like
/// that, the one with the most tiles.
const Step& step_beside(const PlanDocument& document, const Pass& pass, const std::vector<LiveEntry>& live) {
  const Graph& graph = document.model.graph;
  const Sizes sizes = sizes_of(graph, document.plan);
  std::set<std::string> tiles;
  std::string workspace;
  int64_t tile_bytes = 0;
  for (const LiveEntry& entry : live) {
    if (entry.kind == MemoryKind::workspace) workspace = entry.name;
    if (entry.kind != MemoryKind::tile) continue;
    tiles.insert(entry.name);
    tile_bytes += entry.bytes;
  }
  const auto name = [&](TensorId id) { return graph.tensor(id).name; };
  const auto first = [](const std::vector<Interval>& intervals) { return intervals.front().length(); };
  const Extent tile = per_axis(first, pass.tiles);
  for (const Extent& band : {tile, last_band_tile(tile, sizes.latent.y * pass.scale.y)}) {
    const std::vector<int64_t> bytes = step_bytes(graph, pass, band, sizes, {});
    for (size_t i = 0; i < pass.steps.size(); ++i) {
      const Step& step = pass.steps[i];
      const bool reads_live = std::all_of(
          step.inputs.begin(), step.inputs.end(),
          [&](const Operand& operand) { return operand.step == -1 || tiles.contains(name(operand.tensor)); });
      const bool named = workspace.empty() || workspace == name(step.tensor);
      if (bytes[i] == tile_bytes && reads_live && named) return step;
    }
  }
  const std::vector<int64_t> bytes = step_bytes(graph, pass, tile, sizes, {});
  return pass.steps[static_cast<size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin())];
}

Lever lever_for(const Model& model, const planner::Change& change, const planner::CostModel& costs) {
  const planner::Spaces spaces = planner::spaces_of(model, change.request, change.options, costs);
  const int64_t limit = planner::smallest_over(spaces).smallest.bytes;
  return {change.option, change.meaning, limit,
          planner::fastest_over(spaces, change.request, limit).best.value().seconds};
}

}  // namespace

PeakDecision what_decided(const DocumentPtr& document) {
  const PlanDocument& planned = *document->as<PlanDocument>();
  const Timeline timeline = predicted_timeline(document);
  const size_t moment = timeline.peak();
  const size_t number = pass_at(timeline, timeline.seconds(moment));
  const Pass& pass = planned.plan.passes[number];
  std::vector<LiveEntry> live = timeline.live_set(moment);
  const std::string step = planner::step_text(step_beside(planned, pass, live), planned.model.graph);
  return {number, pass.name, step, timeline.total_bytes(moment), std::move(live)};
}

std::vector<Lever> levers(const Model& model, const Request& request, const planner::PlanOptions& options,
                          const planner::CostModel& costs, const std::function<bool()>& go_on) {
  std::vector<Lever> list;
  if (!go_on()) return list;
  list.push_back(lever_for(model, {"", "nothing but a smaller limit", request, options}, costs));
  const int64_t as_it_is = list.front().smallest_limit_bytes;
  for (const planner::Change& change : planner::changes_of(model, request, options, costs)) {
    if (!go_on()) break;
    Lever lever = lever_for(model, change, costs);
    if (lever.smallest_limit_bytes < as_it_is) list.push_back(std::move(lever));
  }
  std::stable_sort(list.begin() + 1, list.end(), [](const Lever& a, const Lever& b) {
    return a.smallest_limit_bytes < b.smallest_limit_bytes;
  });
  return list;
}

Table levers_table(const std::vector<Lever>& levers, int64_t peak_bytes) {
  Table table{"What would lower the peak", {}, {}};
  table.columns = {
      {.title = "change", .is_text = true, .explanation = "As an option of headroom-plan."},
      {.title = "meaning", .is_text = true},
      {.title = "smallest limit",
       .unit = Unit::bytes,
       .bars = true,
       .explanation = "The smallest limit under which there is a plan with this change alone."},
      {.title = "saved", .unit = Unit::bytes, .explanation = "Of the peak as it is."},
      {.title = "share", .unit = Unit::share, .explanation = "What is saved, of the peak as it is."},
      {.title = "time", .unit = Unit::seconds, .explanation = "Predicted, under that limit."}};
  const auto lowest = std::min_element(levers.begin(), levers.end(), [](const Lever& a, const Lever& b) {
    return a.smallest_limit_bytes < b.smallest_limit_bytes;
  });
  for (const Lever& lever : levers) {
    const auto saved = double(peak_bytes - lever.smallest_limit_bytes);
    const Cell share = peak_bytes > 0 ? Cell(saved / double(peak_bytes)) : Cell();
    table.rows.push_back({{lever.change.empty() ? Cell("--limit") : Cell(lever.change), lever.meaning,
                           double(lever.smallest_limit_bytes), saved, share, lever.seconds},
                          &lever == &*lowest});
  }
  return table;
}

}  // namespace headroom::reports
