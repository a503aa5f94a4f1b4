#include "reports/figures/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "decoder/base/errors.h"
#include "planner/explain/diff.h"
#include "reports/figures/eager.h"
#include "reports/figures/history.h"
#include "reports/figures/layers.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {
namespace {

/// Figures of one document that share a unit.
struct Sheet {
  std::string title;
  Unit unit = Unit::none;
  std::vector<std::pair<std::string, double>> figures{};

  void add(const std::string& item, double figure) { figures.emplace_back(item, figure); }
};

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Contents of one document. Two documents of one kind have their sheets and facts in the same order.
struct Contents {
  std::vector<Sheet> sheets;
  Facts facts;
};

/// One figure in both documents.
struct Line {
  std::string item;
  std::optional<double> a, b;
  bool equal() const { return a == b; }
};

/// Distance of the two figures. A figure that one document lacks is furthest, then one that is 0 in one.
double distance(const Line& line) {
  constexpr double kFurthest = std::numeric_limits<double>::infinity();
  if (!line.a || !line.b) return kFurthest;
  if (*line.a == *line.b) return 0;
  const double ratio = *line.a != 0 ? *line.b / *line.a : 0;
  return ratio > 0 ? std::abs(std::log(ratio)) : std::numeric_limits<double>::max();
}

/// Titles of the columns of the two documents.
struct Names {
  std::string a, b;
};

Names names_of(const Document& a, const Document& b) {
  const auto with_rank = [](const Document& document, const std::string& name) {
    return name + (document.rank ? ", rank " + std::to_string(*document.rank) : "");
  };
  Names names{with_rank(a, a.file.filename().string()), with_rank(b, b.file.filename().string())};
  if (names.a == names.b) names = {name_of(a), name_of(b)};
  if (names.a == names.b) names = {"A", "B"};
  return names;
}

Cell cell(const std::optional<double>& figure) {
  return figure ? Cell(*figure) : Cell();
}

void add_table(const std::string& title, Unit unit, std::vector<Line> lines, const Names& names,
               std::vector<Table>& tables) {
  if (lines.empty()) return;
  const size_t equal = std::erase_if(lines, [](const Line& line) { return line.equal(); });
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return distance(a) > distance(b); });
  Table table{title + (equal > 0 ? ", " + std::to_string(equal) + " equal left out" : ""), {}, {}};
  table.columns = {
      {.title = "item", .is_text = true},
      {.title = names.a, .unit = unit, .bars = true},
      {.title = names.b, .unit = unit, .bars = true},
      {.title = "ratio", .unit = Unit::ratio, .explanation = names.b + " over " + names.a + "."}};
  for (const Line& line : lines) {
    const double ratio = line.a && line.b && *line.a != 0 ? *line.b / *line.a : 0;
    table.rows.push_back(
        {{line.item, cell(line.a), cell(line.b), ratio > 0 && std::isfinite(ratio) ? Cell(ratio) : Cell()},
         table.rows.empty()});
  }
  tables.push_back(std::move(table));
}

std::vector<Line> lines_of(const Sheet& a, const Sheet& b) {
  const std::map<std::string, double> in_a(a.figures.begin(), a.figures.end()),
      in_b(b.figures.begin(), b.figures.end());
  std::vector<Line> lines;
  for (const auto& [item, figure] : a.figures) {
    const auto other = in_b.find(item);
    lines.push_back({item, figure, other == in_b.end() ? std::nullopt : std::optional(other->second)});
  }
  for (const auto& [item, figure] : b.figures) {
    if (!in_a.contains(item)) lines.push_back({item, std::nullopt, figure});
  }
  return lines;
}

/// Facts whose text differs.
Table facts_table(const std::string& title, const Facts& a, const Facts& b, const Names& names) {
  Table table{title, {}, {}};
  table.columns = {{.title = "item", .is_text = true},
                   {.title = names.a, .is_text = true},
                   {.title = names.b, .is_text = true}};
  const auto text = [](const std::string& fact) { return fact.empty() ? Cell() : Cell(fact); };
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].second != b[i].second)
      table.rows.push_back({{a[i].first, text(a[i].second), text(b[i].second)}, false});
  }
  return table;
}

void add_facts(const Facts& a, const Facts& b, const Names& names, std::vector<Table>& tables) {
  Table table = facts_table("What else differs", a, b, names);
  if (!table.rows.empty()) tables.push_back(std::move(table));
}

std::string of_size(const std::string& item, const profiler::ProfiledSize& size) {
  return item + ", " + size_text(size);
}

std::string sizes_text(const profiler::Profile& profile) {
  std::string text;
  for (const profiler::ProfiledSize& size : profile.sizes)
    text += (text.empty() ? "" : ", ") + size_text(size);
  return text;
}

/// Only the sizes that `other` has as well.
Contents contents_of(const profiler::Profile& profile, const profiler::Profile& other) {
  std::set<std::string> shared;
  for (const profiler::ProfiledSize& size : other.sizes) shared.insert(size_text(size));
  Sheet time{"Time of layers", Unit::seconds}, live{"Live bytes of layers", Unit::bytes},
      workspace{"Workspace of layers", Unit::bytes}, activation{"Activations of layers", Unit::bytes},
      rates{"Bytes in a second", Unit::bytes};
  for (size_t i = 0; i < profile.sizes.size(); ++i) {
    const profiler::ProfiledSize& size = profile.sizes[i];
    if (!shared.contains(size_text(size))) continue;
    time.add(of_size("whole decode", size), size.seconds);
    live.add(of_size("whole decode", size), double(size.peak_bytes));
    for (const profiler::LayerProfile& layer : profile.layers) {
      const profiler::LayerMeasurement& measured = layer.sizes[i];
      time.add(of_size(layer.name, size), measured.seconds);
      live.add(of_size(layer.name, size), double(measured.live_bytes));
      workspace.add(of_size(layer.name, size), double(measured.workspace_bytes));
      activation.add(of_size(layer.name, size), double(measured.activation_bytes));
    }
  }
  const auto rate = [&](const char* item, double bytes_per_second) {
    if (bytes_per_second > 0) rates.add(item, bytes_per_second);
  };
  rate("weights brought in", profile.weights_bytes_per_second);
  rate("kernels transformed", profile.transform_bytes_per_second);
  rate("scratch file written", profile.scratch_write_bytes_per_second);
  rate("scratch file read", profile.scratch_read_bytes_per_second);
  return {{time, live, workspace, activation, rates},
          {{"model", profile.model},
           {"sizes", sizes_text(profile)},
           {"dtype", name_of(profile.dtype)},
           {"device", profile.device},
           {"libraries", profile.libraries},
           {"weights from", profile.weights_source},
           {"scratch folder", profile.scratch_folder}}};
}

std::string pass_text(size_t number, const std::string& name) {
  return "pass " + std::to_string(number) + " " + name;
}

Contents contents_of(const profiler::EagerRecording& recording) {
  Sheet time{"Time of layers", Unit::seconds}, live{"Live bytes of layers", Unit::bytes},
      workspace{"Workspace of layers", Unit::bytes};
  for (const profiler::RecordedEagerDecode& decode : recording.decodes) {
    const std::string at = " at " + variant_text(decode);
    time.add("whole decode" + at, decode.seconds);
    live.add("whole decode" + at, double(decode.peak_bytes));
    for (const profiler::RecordedLayer& layer : decode.layers) {
      time.add(layer.name + at, layer.seconds);
      live.add(layer.name + at, double(layer.live_bytes));
      workspace.add(layer.name + at, double(layer.workspace_bytes));
    }
  }
  return {{time, live, workspace},
          {{"model", recording.model},
           {"dtype", name_of(recording.dtype)},
           {"device", recording.device},
           {"libraries", recording.libraries}}};
}

Contents contents_of(const profiler::MemoryHistory& history, const std::string& recorded_device) {
  const profiler::DeviceHistory& device = device_of(history, recorded_device);
  const size_t peak = device.peak();
  Sheet memory{"Memory", Unit::bytes}, modules{"Live memory by module at the peak", Unit::bytes};
  memory.add("peak", double(device.allocated_bytes[peak]));
  if (!device.reserved_bytes.empty()) {
    memory.add("reserved at the peak", double(device.reserved_bytes[peak]));
    memory.add("most reserved",
               double(*std::max_element(device.reserved_bytes.begin(), device.reserved_bytes.end())));
  }
  if (!device.refusals.empty()) memory.add("refused request", double(device.refusals.back().asked_bytes));
  for (const Row& row : history_modules_table(history, device, peak).rows)
    modules.add(std::get<std::string>(row.cells[0]), std::get<double>(row.cells[2]));
  return {{memory, modules}, {{"source", history.source}, {"device", device.device}}};
}

Contents contents_of(const RunStats& run) {
  Sheet memory{"Memory", Unit::bytes}, time{"Time", Unit::seconds}, other{"Other figures", Unit::none};
  memory.add("peak", double(run.peak_bytes));
  memory.add("predicted peak", double(run.predicted_peak_bytes));
  memory.add("limit", double(run.limit_bytes));
  memory.add("peak of the pool", double(run.pool_peak_bytes));
  memory.add("growth of other process memory", double(run.outside_bytes));
  memory.add("growth of the resident size", double(run.rss_growth_bytes));
  memory.add("written to the scratch file", double(run.scratch_written_bytes));
  memory.add("read from the scratch file", double(run.scratch_read_bytes));
  time.add("whole decode", run.seconds);
  time.add("predicted time", run.predicted_seconds);
  time.add("waiting for transfers", run.transfer_wait_seconds);
  for (size_t i = 0; i < run.passes.size(); ++i) {
    memory.add(pass_text(i, run.passes[i].name), double(run.passes[i].peak_bytes));
    time.add(pass_text(i, run.passes[i].name), run.passes[i].seconds);
  }
  if (run.queue) {
    for (const DecodeStats& decode : run.queue->decodes) {
      const std::string item = "decode " + decode.name + " " + std::to_string(decode.repetition);
      memory.add(item, double(decode.peak_bytes));
      time.add(item, decode.seconds);
    }
  }
  other.add("threads", run.threads);
  if (run.verification) {
    other.add("largest error, relative", run.verification->largest_error_relative);
    other.add("PSNR in dB", run.verification->psnr_db);
  }
  return {{memory, time, other},
          {{"device", run.device},
           {"libraries", run.libraries},
           {"verified against", run.verification ? run.verification->compared_with : ""}}};
}

/// The sources that recorded a GPU.
std::string captured_text(const Trace& trace) {
  std::string text;
  for (const TraceSource& source : trace.sources) {
    if (source.captured) text += (text.empty() ? "" : ", ") + source.name;
  }
  return text;
}

Contents contents_of(const RecordedTrace& recorded, const Document& document) {
  const Trace& trace = recorded.trace;
  Sheet memory{"Memory", Unit::bytes}, time{"Time", Unit::seconds}, gpu{"Time of the GPU", Unit::seconds};
  // The timeline does not outlive this function, so it need not own the document.
  const Timeline timeline = measured_timeline(DocumentPtr(DocumentPtr(), &document));
  memory.add("limit", double(trace.limit_bytes));
  if (timeline.size() > 0) {
    memory.add("peak", double(timeline.total_bytes(timeline.peak())));
    for (const MemoryKind kind : timeline.kinds()) {
      memory.add(std::string(title_of(kind)) + " at the peak",
                 double(timeline.use(timeline.peak())[static_cast<size_t>(kind)]));
    }
  }
  // A GPU's trace begins when its libraries start.
  const bool of_gpu = !trace.driver.empty() && !trace.passes.empty();
  time.add("whole decode",
           of_gpu ? trace.passes.back().end_seconds - trace.passes.front().begin_seconds : trace.seconds);
  std::map<int32_t, double> passes, gpu_passes;  // micro-batches together
  for (const TraceInterval& pass : trace.passes) passes[pass.pass] += pass.end_seconds - pass.begin_seconds;
  const auto pass_name = [&](int32_t pass) {
    const auto number = static_cast<size_t>(pass);
    return pass_text(number, number < recorded.pass_names.size() ? recorded.pass_names[number] : "");
  };
  for (const auto& [pass, seconds] : passes) time.add(pass_name(pass), seconds);
  for (size_t i = 0; i < trace.step_sums.size(); ++i) {
    const TraceStepSum& sum = trace.step_sums[i];
    const RecordedStep& step = recorded.steps[i];
    const bool named = step.layer >= 0 && static_cast<size_t>(step.layer) < recorded.layers.size();
    const std::string item = pass_name(sum.pass) + ", step " + std::to_string(sum.step) + ": " + step.kind +
                             (named ? " " + recorded.layers[static_cast<size_t>(step.layer)] : "");
    time.add(item, sum.seconds);
    if (sum.device_seconds > 0) {
      gpu.add(item, sum.device_seconds);
      gpu_passes[sum.pass] += sum.device_seconds;
    }
  }
  for (const auto& [pass, seconds] : gpu_passes) gpu.add(pass_name(pass), seconds);
  return {{memory, time, gpu},
          {{"model", trace.model},
           {"device", trace.device},
           {"libraries", trace.libraries},
           {"watched by", captured_text(trace)}}};
}

/// Seconds of the fastest plan under a limit. Unset if no plan fits.
std::optional<double> seconds_under(const std::vector<planner::FrontierPoint>& points, int64_t limit_bytes) {
  for (const planner::FrontierPoint& point : points) {
    if (point.peak_bytes <= limit_bytes) return point.seconds;
  }
  return std::nullopt;
}

Facts facts_of(const FrontierDocument& frontier) {
  const Request& request = frontier.request;
  return {{"model", request.model},
          {"size", std::to_string(request.width_pixels) + "×" + std::to_string(request.height_pixels)},
          {"frames", std::to_string(request.frames)},
          {"batch", std::to_string(request.batch)},
          {"dtype", arithmetic_of(request)},
          {"device", name_of(request.device)},
          {"costs", frontier.assumed ? "assumed" : "profile"}};
}

void compare_frontiers(const FrontierDocument& a, const FrontierDocument& b, const Names& names,
                       std::vector<Table>& tables) {
  std::set<int64_t> limits;
  for (const planner::FrontierPoint& point : a.points) limits.insert(point.peak_bytes);
  for (const planner::FrontierPoint& point : b.points) limits.insert(point.peak_bytes);
  std::vector<Line> times;
  times.reserve(limits.size());
  for (const int64_t limit : limits) {
    times.push_back({"under " + format(Unit::bytes, double(limit)), seconds_under(a.points, limit),
                     seconds_under(b.points, limit)});
  }
  add_table("Time", Unit::seconds, std::move(times), names, tables);
  const auto peak = [](const std::vector<planner::FrontierPoint>& points, bool last) {
    return points.empty() ? std::nullopt
                          : std::optional(double((last ? points.back() : points.front()).peak_bytes));
  };
  std::vector<Line> peaks{{"smallest plan", peak(a.points, true), peak(b.points, true)},
                          {"fastest plan", peak(a.points, false), peak(b.points, false)}};
  add_table("Peak", Unit::bytes, std::move(peaks), names, tables);
  add_facts(facts_of(a), facts_of(b), names, tables);
}

Unit unit_of(const std::string& key) {
  if (key.ends_with("bytes")) return Unit::bytes;
  if (key.ends_with("seconds")) return Unit::seconds;
  return key.ends_with("flops") ? Unit::flops : Unit::none;
}

std::string fact_text(const std::string& key, const nlohmann::json& value) {
  if (value.is_null()) return "";
  if (key != "steps" || !value.is_array()) return planner::value_text(key, value);
  std::string text;
  for (const nlohmann::json& step : value) text += (text.empty() ? "" : "; ") + step.get<std::string>();
  return text;
}

void compare_plans(const PlanDocument& a, const PlanDocument& b, const Names& names,
                   std::vector<Table>& tables) {
  const planner::PlanDiff diff = planner::diff_plans(a.plan, a.model.graph, b.plan, b.model.graph);
  std::map<Unit, std::vector<Line>> lines;
  Facts facts_a, facts_b;
  const auto add = [&](const std::string& of, const std::vector<planner::Difference>& differences) {
    for (const planner::Difference& d : differences) {
      const std::string item = of + planner::key_text(d.key);
      if (unit_of(d.key) == Unit::none) {
        facts_a.emplace_back(item, fact_text(d.key, d.a));
        facts_b.emplace_back(item, fact_text(d.key, d.b));
        continue;
      }
      const auto number = [](const nlohmann::json& value) {
        return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
      };
      lines[unit_of(d.key)].push_back({item, number(d.a), number(d.b)});
    }
  };
  add("", diff.whole);
  for (const planner::PartDifference& pass : diff.passes)
    add(pass_text(static_cast<size_t>(pass.pass), pass.name) + ": ", pass.values);
  for (const planner::PartDifference& kept : diff.kept) add("kept " + kept.name + ": ", kept.values);
  add_table("Memory", Unit::bytes, std::move(lines[Unit::bytes]), names, tables);
  add_table("Time", Unit::seconds, std::move(lines[Unit::seconds]), names, tables);
  add_table("Work", Unit::flops, std::move(lines[Unit::flops]), names, tables);
  const std::string same = std::to_string(diff.same_passes) + " passes and " +
                           std::to_string(diff.same_kept) + " kept tensors equal left out";
  tables.push_back(facts_table("What else differs, " + same, facts_a, facts_b, names));
}

void compare_ranks(const std::vector<DocumentPtr>& a, const std::vector<DocumentPtr>& b, const Names& names,
                   std::vector<Table>& tables) {
  using Value = std::optional<double>;
  // Peak and time of one rank, planned or recorded.
  const auto outcome = [](const std::vector<DocumentPtr>& ranks, size_t rank) -> std::pair<Value, Value> {
    if (rank >= ranks.size()) return {};
    if (const PlanDocument* planned = ranks[rank]->as<PlanDocument>())
      return {double(planned->plan.predicted_peak_bytes), planned->plan.predicted_seconds};
    const Timeline timeline = measured_timeline(ranks[rank]);
    return {double(timeline.total_bytes(timeline.peak())), ranks[rank]->as<RecordedTrace>()->trace.seconds};
  };
  std::vector<Line> peaks, times;
  for (size_t rank = 0; rank < std::max(a.size(), b.size()); ++rank) {
    const auto here = outcome(a, rank), there = outcome(b, rank);
    const std::string name = "rank " + std::to_string(rank);
    peaks.push_back({name, here.first, there.first});
    times.push_back({name, here.second, there.second});
  }
  add_table("Peak", Unit::bytes, std::move(peaks), names, tables);
  add_table("Time", Unit::seconds, std::move(times), names, tables);
}

void compare_contents(const Contents& a, const Contents& b, const Names& names, std::vector<Table>& tables) {
  for (size_t i = 0; i < a.sheets.size(); ++i) {
    add_table(a.sheets[i].title, a.sheets[i].unit, lines_of(a.sheets[i], b.sheets[i]), names, tables);
  }
  add_facts(a.facts, b.facts, names, tables);
}

}  // namespace

std::vector<Table> compare(const Document& a, const Document& b, const std::string& recorded_device) {
  if (a.contents.index() != b.contents.index()) {
    throw InputError(b.file.string() + ": schema: expected a headroom." + kind_of(a) +
                     " file to compare with " + a.file.string() + ", found headroom." + kind_of(b));
  }
  const Names names = names_of(a, b);
  std::vector<Table> tables;
  if (const profiler::Profile* profile = a.as<profiler::Profile>()) {
    const profiler::Profile& other = *b.as<profiler::Profile>();
    compare_contents(contents_of(*profile, other), contents_of(other, *profile), names, tables);
  } else if (const RunStats* run = a.as<RunStats>()) {
    compare_contents(contents_of(*run), contents_of(*b.as<RunStats>()), names, tables);
  } else if (const RecordedTrace* trace = a.as<RecordedTrace>()) {
    compare_contents(contents_of(*trace, a), contents_of(*b.as<RecordedTrace>(), b), names, tables);
  } else if (const FrontierDocument* frontier = a.as<FrontierDocument>()) {
    compare_frontiers(*frontier, *b.as<FrontierDocument>(), names, tables);
  } else if (const auto* recording = a.as<profiler::EagerRecording>()) {
    compare_contents(contents_of(*recording), contents_of(*b.as<profiler::EagerRecording>()), names, tables);
  } else if (const auto* history = a.as<profiler::MemoryHistory>()) {
    compare_contents(contents_of(*history, recorded_device),
                     contents_of(*b.as<profiler::MemoryHistory>(), recorded_device), names, tables);
  } else if (!a.ranks.empty()) {
    compare_ranks(a.ranks, b.ranks, names, tables);
  } else {
    compare_plans(*a.as<PlanDocument>(), *b.as<PlanDocument>(), names, tables);
  }
  return tables;
}

}  // namespace headroom::reports
