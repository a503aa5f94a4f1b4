#include "reports/figures/passes.h"

#include <algorithm>
#include <set>

#include "planner/explain/analyze.h"
#include "planner/explain/explain.h"

namespace headroom::reports {
namespace {

template <typename T>
std::vector<Cell> cells(const planner::Outcome<T>& outcome) {
  std::vector<Cell> list{double(outcome.predicted), double(outcome.measured), Cell()};
  if (const std::optional<double> ratio = outcome.ratio()) list.back() = *ratio;
  return list;
}

void append(std::vector<Cell>& cells, const std::vector<Cell>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
}

constexpr const char* kPredicted = "predicted";

std::vector<Column> outcome_columns() {
  std::vector<Column> columns;
  const auto add = [&](const char* group, Unit unit, const char* predicted, const char* measured) {
    columns.push_back(
        {.title = kPredicted, .unit = unit, .bars = true, .explanation = predicted, .group = group});
    columns.push_back(
        {.title = "measured", .unit = unit, .bars = true, .explanation = measured, .group = group});
    columns.push_back(
        {.title = "ratio", .unit = Unit::ratio, .explanation = "Measured over predicted.", .group = group});
  };
  add("peak", Unit::bytes, "Peak of the device memory in this pass, weights and reserve included.",
      "Peak of the pool in this pass, without the growth of other process memory.");
  add("time", Unit::seconds, "Predicted time of all tiles of all micro-batches.",
      "Measured time of the same tiles.");
  return columns;
}

/// The first pass with the largest of these peaks.
template <typename Passes, typename Peak>
size_t decides_peak(const Passes& passes, Peak peak) {
  const auto largest = std::max_element(passes.begin(), passes.end(),
                                        [&](const auto& a, const auto& b) { return a.*peak < b.*peak; });
  return static_cast<size_t>(largest - passes.begin());
}

std::string joined(const std::vector<int32_t>& numbers) {
  std::string text;
  for (int32_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

/// "winograd", or "winograd, 2 direct".
std::string algorithms_text(const ConvolutionAlgorithms& algorithms) {
  std::string text = name_of(algorithms.algorithm);
  if (!algorithms.direct.empty()) text += ", " + std::to_string(algorithms.direct.size()) + " direct";
  return text;
}

}  // namespace

Table passes_table(const PlanDocument& document, const RunStats* run) {
  const Plan& plan = document.plan;
  Table table{run == nullptr ? "Passes of the plan" : "Passes, predicted and measured", {}, {}};
  table.columns = {
      {.title = "pass"},
      {.title = "name", .is_text = true},
      {.title = "tiles",
       .is_text = true,
       .explanation = "Number of tiles, and columns × rows (× frames) of the first one, in positions "
                      "of the pass's grid."},
      {.title = "convolutions",
       .is_text = true,
       .explanation = "Algorithm of its 3×3 convolutions: direct or Winograd. Winograd multiplies "
                      "less, but needs larger kernels and workspace. Some convolutions of a "
                      "Winograd pass may be direct."}};
  for (Column& column : outcome_columns()) {
    if (run != nullptr || column.title == kPredicted) table.columns.push_back(std::move(column));
  }
  table.columns.push_back({.title = "work",
                           .unit = Unit::flops,
                           .explanation = "Floating-point operations of the direct form, halos included."});
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    table.rows.push_back(
        {{double(i), pass.name, planner::short_tiles_text(pass), algorithms_text(pass.convolutions)}, false});
    if (run == nullptr)
      append(table.rows.back().cells, {double(pass.predicted_peak_bytes), pass.predicted_seconds});
  }
  if (run != nullptr) {
    for (const planner::PassAnalysis& pass : planner::analyze(plan, "the plan", *run, "the run").passes) {
      Row& row = table.rows[pass.pass];
      append(row.cells, cells(pass.peak_bytes));
      append(row.cells, cells(pass.seconds));
      row.stands_out = pass.decided_peak;
    }
  } else if (!plan.passes.empty()) {
    table.rows[decides_peak(plan.passes, &Pass::predicted_peak_bytes)].stands_out = true;
  }
  for (size_t i = 0; i < plan.passes.size(); ++i)
    table.rows[i].cells.push_back(plan.passes[i].predicted_flops);
  return table;
}

Table passes_table(const RunStats& run) {
  Table table{"Passes of the run", {}, {}};
  table.columns = {{.title = "pass"}, {.title = "name", .is_text = true}};
  for (Column& column : outcome_columns()) table.columns.push_back(std::move(column));
  for (const PassStats& pass : run.passes) {
    Row row{{double(table.rows.size()), pass.name}, false};
    append(row.cells, cells(planner::Outcome<int64_t>{pass.predicted_peak_bytes, pass.peak_bytes}));
    append(row.cells, cells(planner::Outcome<double>{pass.predicted_seconds, pass.seconds}));
    table.rows.push_back(std::move(row));
  }
  if (!run.passes.empty()) table.rows[decides_peak(run.passes, &PassStats::peak_bytes)].stands_out = true;
  return table;
}

std::vector<KeptSpan> kept_spans(const PlanDocument& document) {
  const Plan& plan = document.plan;
  const Graph& graph = document.model.graph;
  std::vector<std::set<TensorId>> read;
  for (size_t pass = 0; pass < plan.passes.size(); ++pass)
    read.push_back(planner::tensors_read(plan, graph, pass));
  std::vector<KeptSpan> spans;
  for (const KeptTensor& kept : plan.kept) {
    const bool taken = kept.in_place_of != TensorId{-1};
    KeptSpan span{graph.tensor(kept.tensor).name,
                  kept.tier,
                  kept.first_pass,
                  kept.last_pass,
                  {},
                  kept_bytes(graph, plan, kept),
                  taken ? graph.tensor(kept.in_place_of).name : ""};
    for (size_t pass = 0; pass < read.size(); ++pass) {
      if (read[pass].contains(kept.tensor)) span.read_in.push_back(static_cast<int32_t>(pass));
    }
    spans.push_back(std::move(span));
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const KeptSpan& a, const KeptSpan& b) { return a.first_pass < b.first_pass; });
  return spans;
}

Table kept_table(const PlanDocument& document) {
  Table table{"Kept tensors", {}, {}};
  table.columns = {
      {.title = "tensor", .is_text = true},
      {.title = "tier",
       .is_text = true,
       .explanation = "Memory that stores the tensor: the device, host memory or a scratch file."},
      {.title = "size", .unit = Unit::bytes, .bars = true},
      {.title = "written in", .explanation = "The pass that writes it."},
      {.title = "read in", .is_text = true, .explanation = "The passes that read it but do not write it."},
      {.title = "until",
       .explanation = "The last pass that reads it. This pass frees the blocks as it proceeds."},
      {.title = "in place of", .is_text = true, .explanation = "The tensor whose blocks it reuses."}};
  for (const KeptSpan& span : kept_spans(document)) {
    table.rows.push_back(
        {{span.tensor, name_of(span.tier), double(span.bytes), double(span.first_pass), joined(span.read_in),
          double(span.last_pass), span.in_place_of.empty() ? Cell() : Cell(span.in_place_of)},
         false});
  }
  return table;
}

Chart frontier_chart(const std::vector<planner::FrontierPoint>& points, int64_t limit_bytes) {
  Chart chart;
  chart.title = "Peak against time";
  chart.x = {"peak", Unit::bytes, true};
  chart.y = {"time", Unit::seconds, false};
  Series line{"fastest plan", Mark::steps, ColourRole::planned, {}, {}};
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    line.x.push_back(double(point->peak_bytes));
    line.y.push_back(point->seconds);
  }
  Series plans{"plans", Mark::points, ColourRole::planned, line.x, line.y};
  chart.series = {std::move(line), std::move(plans)};
  if (!is_limit(limit_bytes)) return chart;
  chart.guides.push_back({"limit " + format(Unit::bytes, double(limit_bytes)), double(limit_bytes), true});
  const auto allowed = std::find_if(points.begin(), points.end(), [&](const planner::FrontierPoint& point) {
    return point.peak_bytes <= limit_bytes;
  });
  if (allowed == points.end()) return chart;
  const auto peak = double(allowed->peak_bytes);
  chart.notes.push_back(
      {peak, allowed->seconds, format(Unit::seconds, allowed->seconds) + ", " + format(Unit::bytes, peak)});
  return chart;
}

Table frontier_table(const std::vector<planner::FrontierPoint>& points) {
  Table table{"Peak against time", {}, {}};
  table.columns = {
      {.title = "peak",
       .unit = Unit::bytes,
       .bars = true,
       .explanation = "Peak of the plan. It is also the smallest limit that gives this plan."},
      {.title = "time", .unit = Unit::seconds, .bars = true, .explanation = "Predicted."},
      {.title = "weights",
       .is_text = true,
       .explanation = "throughout: all weights stay on the device. per pass: each pass loads its own."},
      {.title = "micro-batch", .explanation = "Batch items that go through all passes together."},
      {.title = "lower tier",
       .is_text = true,
       .explanation = "Memory for kept tensors that do not stay on the device."}};
  for (const planner::FrontierPoint& point : points) {
    const planner::Configuration& configuration = point.configuration;
    table.rows.push_back({{double(point.peak_bytes), point.seconds, planner::words_of(configuration.weights),
                           double(configuration.micro_batch),
                           configuration.lower_tier ? name_of(*configuration.lower_tier) : "none"},
                          false});
  }
  return table;
}

}  // namespace headroom::reports
