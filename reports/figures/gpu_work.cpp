#include "reports/figures/gpu_work.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "reports/figures/timeline.h"
#include "reports/figures/unit.h"

namespace headroom::reports {
namespace {

/// Most rows of a table. Hundreds of names would hide the important ones.
constexpr size_t kMostRows = 30;

Cell share_of(double part, double whole) {
  return whole > 0 ? Cell(part / whole) : Cell();
}

Column seconds_column(const char* title, const char* explanation, const char* group = "") {
  return {.title = title, .unit = Unit::seconds, .bars = true, .explanation = explanation, .group = group};
}

/// Activities of one name and kind, summed.
struct Work {
  std::string name;
  ActivityKind kind{};
  int64_t calls = 0;
  double seconds = 0;
  int64_t bytes = 0;
};

/// Longest first.
std::vector<Work> work_by_name(const RecordedTrace& recorded) {
  std::map<std::pair<ActivityKind, int32_t>, Work> sums;
  for (const TraceActivity& one : recorded.trace.activities) {
    Work& work = sums[{one.kind, one.name}];
    ++work.calls;
    work.seconds += one.end_seconds - one.begin_seconds;
    work.bytes += one.bytes;
  }
  std::vector<Work> sorted;
  for (auto& [key, work] : sums) {
    work.kind = key.first;
    work.name = recorded.trace.activity_names[static_cast<size_t>(key.second)];
    sorted.push_back(std::move(work));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Work& a, const Work& b) { return a.seconds > b.seconds; });
  return sorted;
}

double seconds_of(const std::vector<Work>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0,
                         [](double sum, const Work& work) { return sum + work.seconds; });
}

/// Sum of all entries from `first` on.
Work rest_of(const std::vector<Work>& all, size_t first) {
  Work rest;
  rest.name = std::to_string(all.size() - first) + " others";
  for (size_t i = first; i < all.size(); ++i) {
    rest.calls += all[i].calls;
    rest.seconds += all[i].seconds;
    rest.bytes += all[i].bytes;
  }
  return rest;
}

/// Number of `count` rows to show. The rest shares one row, so the rest is never a single entry.
size_t shown_of(size_t count) {
  return count <= kMostRows + 1 ? count : kMostRows;
}

Cell bytes_cell(int64_t bytes) {
  return bytes > 0 ? Cell(double(bytes)) : Cell();
}

/// The part of the decode that the list of activities covers. It begins with the first pass, after libraries
/// start and weights load. It ends with the last pass, or earlier if the list was full.
struct Reported {
  explicit Reported(const Trace& trace) {
    const bool all = trace.activities_left_out == 0 || trace.activities.empty();
    if (!trace.passes.empty()) begin_seconds = trace.passes.front().begin_seconds;
    end_seconds = trace.passes.empty() ? trace.seconds : trace.passes.back().end_seconds;
    // The last copies end after the last step.
    if (all && !trace.activities.empty()) end_seconds = std::max(end_seconds, last_end(trace));
    if (!all) end_seconds = std::min(end_seconds, trace.activities.back().end_seconds);
    end_seconds = std::max(begin_seconds, end_seconds);
  }
  double seconds() const { return end_seconds - begin_seconds; }

  double begin_seconds = 0, end_seconds = 0;

 private:
  static double last_end(const Trace& trace) {
    double last = 0;
    for (const TraceActivity& one : trace.activities) last = std::max(last, one.end_seconds);
    return last;
  }
};

/// Adds up intervals of time that begin one after another. Time that several of them share counts once.
class BusyTime {
 public:
  explicit BusyTime(const Reported& reported) : until_(reported.begin_seconds), end_(reported.end_seconds) {}
  void add(const TraceActivity& one) {
    const double begin = std::max(one.begin_seconds, until_), end = std::min(one.end_seconds, end_);
    if (end <= begin) return;
    seconds_ += end - begin;
    until_ = end;
  }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0, until_, end_;
};

std::string layer_of(const RecordedTrace& recorded, const RecordedStep& step) {
  return step.layer < 0 ? "" : recorded.layers[static_cast<size_t>(step.layer)];
}

bool has_device_seconds(const Trace& trace) {
  return std::any_of(trace.step_sums.begin(), trace.step_sums.end(),
                     [](const TraceStepSum& sum) { return sum.device_seconds > 0; });
}

constexpr const char* kHostTime = "Time on the host from the step's start until the next step.";
constexpr const char* kGpuTime = "Kernels and copies that it launched, on all streams.";

}  // namespace

Table gpu_passes_table(const RecordedTrace& recorded) {
  const Trace& trace = recorded.trace;
  Table table{"Time of the GPU by passes", {}, {}};
  table.columns = {
      {.title = "pass"},
      {.title = "name", .is_text = true},
      seconds_column("on the host", "From its first tile to its last, all micro-batches together.", "time"),
      seconds_column("on the GPU", kGpuTime, "time"),
      {.title = "share", .unit = Unit::share, .explanation = "Share of the GPU's whole time."}};
  if (!has_device_seconds(trace)) return table;
  std::vector<double> host(recorded.pass_names.size()), gpu(host);
  for (const TraceInterval& pass : trace.passes)
    host[static_cast<size_t>(pass.pass)] += pass.end_seconds - pass.begin_seconds;
  for (const TraceStepSum& sum : trace.step_sums) gpu[static_cast<size_t>(sum.pass)] += sum.device_seconds;
  const double all = std::accumulate(gpu.begin(), gpu.end(), 0.0);
  const size_t longest = static_cast<size_t>(std::max_element(gpu.begin(), gpu.end()) - gpu.begin());
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (host[i] <= 0 && gpu[i] <= 0) continue;  // not in this part of the trace
    table.rows.push_back(
        {{double(i), recorded.pass_names[i], host[i], gpu[i], share_of(gpu[i], all)}, i == longest});
  }
  return table;
}

Table gpu_steps_table(const RecordedTrace& recorded) {
  const Trace& trace = recorded.trace;
  Table table{"Steps that took the GPU longest", {}, {}};
  table.columns = {{.title = "pass"},
                   {.title = "kind", .is_text = true},
                   {.title = "layer", .is_text = true},
                   {.title = "calls"},
                   seconds_column("on the host", kHostTime, "time"),
                   seconds_column("on the GPU", kGpuTime, "time"),
                   {.title = "share", .unit = Unit::share, .explanation = "Share of the GPU's whole time."}};
  if (!has_device_seconds(trace)) return table;
  std::vector<size_t> order(trace.step_sums.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return trace.step_sums[a].device_seconds > trace.step_sums[b].device_seconds;
  });
  double all = 0;
  for (const TraceStepSum& sum : trace.step_sums) all += sum.device_seconds;
  const size_t shown = shown_of(order.size());
  for (size_t i = 0; i < shown; ++i) {
    const TraceStepSum& sum = trace.step_sums[order[i]];
    const RecordedStep& step = recorded.steps[order[i]];
    table.rows.push_back({{double(sum.pass), step.kind, layer_of(recorded, step), double(sum.calls),
                           sum.seconds, sum.device_seconds, share_of(sum.device_seconds, all)},
                          i == 0});
  }
  if (shown == order.size()) return table;
  TraceStepSum rest;
  for (size_t i = shown; i < order.size(); ++i) {
    const TraceStepSum& sum = trace.step_sums[order[i]];
    rest.calls += sum.calls;
    rest.seconds += sum.seconds;
    rest.device_seconds += sum.device_seconds;
  }
  table.rows.push_back({{Cell(), std::to_string(order.size() - shown) + " others", Cell(), double(rest.calls),
                         rest.seconds, rest.device_seconds, share_of(rest.device_seconds, all)},
                        false});
  return table;
}

Table activities_table(const RecordedTrace& recorded) {
  Table table{"What the GPU ran", {}, {}};
  table.columns = {
      {.title = "name", .is_text = true},
      {.title = "kind", .is_text = true},
      {.title = "calls"},
      seconds_column("time", "Time of all calls. Calls on two streams at the same time count twice."),
      {.title = "share", .unit = Unit::share, .explanation = "Share of the listed time."},
      {.title = "moved", .unit = Unit::bytes, .explanation = "Copied or filled."},
      {.title = "rate", .unit = Unit::bytes_per_second, .explanation = "Over the time that the copies ran."}};
  const std::vector<Work> all = work_by_name(recorded);
  const double seconds = seconds_of(all);
  const auto add = [&](const Work& work, Cell kind) {
    const bool copies = work.kind == ActivityKind::copy && work.bytes > 0;
    table.rows.push_back(
        {{work.name, std::move(kind), double(work.calls), work.seconds, share_of(work.seconds, seconds),
          bytes_cell(work.bytes), copies ? share_of(double(work.bytes), work.seconds) : Cell()},
         table.rows.empty()});
  };
  const size_t shown = shown_of(all.size());
  for (size_t i = 0; i < shown; ++i) add(all[i], name_of(all[i].kind));
  if (shown < all.size()) add(rest_of(all, shown), Cell());
  return table;
}

Table streams_table(const RecordedTrace& recorded) {
  Table table{"Streams of the GPU", {}, {}};
  table.columns = {
      {.title = "stream", .is_text = true},
      {.title = "calls"},
      seconds_column("busy", "While something ran on it."),
      {.title = "share", .unit = Unit::share, .explanation = "Share of the listed decode time."}};
  const Trace& trace = recorded.trace;
  const Reported reported(trace);
  std::map<int32_t, std::pair<int64_t, BusyTime>> streams;
  BusyTime any(reported);
  for (const TraceActivity& one : trace.activities) {
    auto& [calls, busy] = streams.try_emplace(one.stream, 0, reported).first->second;
    ++calls;
    busy.add(one);
    any.add(one);
  }
  const double whole = reported.seconds();
  const auto add = [&](const std::string& name, int64_t calls, const BusyTime& busy) {
    table.rows.push_back({{name, double(calls), busy.seconds(), share_of(busy.seconds(), whole)}, false});
  };
  for (const auto& [stream, of] : streams) {
    if (table.rows.size() < kMostRows) add("stream " + std::to_string(stream), of.first, of.second);
  }
  if (streams.size() > 1) add("any stream", static_cast<int64_t>(trace.activities.size()), any);
  return table;
}

namespace {

/// Cuts intervals to the time from `begin` to `end`, and drops those outside of it.
template <typename Listed>
void cut(std::vector<Listed>& all, double begin, double end) {
  std::erase_if(all, [&](const Listed& one) { return one.end_seconds <= begin || one.begin_seconds >= end; });
  for (Listed& one : all) {
    one.begin_seconds = std::max(one.begin_seconds, begin);
    one.end_seconds = std::min(one.end_seconds, end);
  }
}

/// True if a list, which has the entries that began first, has all that began before `end`.
template <typename Listed>
bool reaches(const std::vector<Listed>& all, int64_t left_out, double end) {
  return !all.empty() && (left_out == 0 || all.back().begin_seconds >= end);
}

/// The range, enlarged to the ends of the passes that it cuts.
std::pair<double, double> whole_passes(const std::vector<TraceInterval>& passes, double begin, double end) {
  std::pair<double, double> range{begin, end};
  for (const TraceInterval& pass : passes) {
    if (pass.end_seconds <= begin || pass.begin_seconds >= end) continue;
    range.first = std::min(range.first, pass.begin_seconds);
    range.second = std::max(range.second, pass.end_seconds);
  }
  return range;
}

using StepKey = std::pair<int32_t, int32_t>;  ///< pass and step

/// Adds up the calls and the host's time of each step.
void sum_steps(const std::vector<TraceInterval>& steps, std::map<StepKey, TraceStepSum>& sums) {
  for (const TraceInterval& step : steps) {
    TraceStepSum& sum = sums[{step.pass, step.step}];
    ++sum.calls;
    sum.seconds += step.end_seconds - step.begin_seconds;
  }
}

}  // namespace

RecordedTrace within(const RecordedTrace& recorded, double begin_seconds, double end_seconds) {
  const double offset = recorded.trace.rank ? recorded.trace.rank->clock_offset_seconds : 0;
  double begin = begin_seconds - offset, end = end_seconds - offset;
  const Trace& whole = recorded.trace;
  const bool cut_device = reaches(whole.activities, whole.activities_left_out, end);
  if (!cut_device) std::tie(begin, end) = whole_passes(whole.passes, begin, end);
  const bool cut_host = reaches(whole.steps, whole.steps_left_out, end);
  RecordedTrace part = recorded;
  for (TraceActivity& one : part.trace.activities) {
    const double lasts = one.end_seconds - one.begin_seconds;
    const double inside = std::min(one.end_seconds, end) - std::max(one.begin_seconds, begin);
    if (inside > 0 && inside < lasts) one.bytes = static_cast<int64_t>(double(one.bytes) * inside / lasts);
  }
  cut(part.trace.activities, begin, end);
  if (cut_device) part.trace.activities_left_out = 0;
  cut(part.trace.passes, begin, end);
  cut(part.trace.steps, begin, end);
  std::map<StepKey, TraceStepSum> sums;
  sum_steps(part.trace.steps, sums);
  for (const TraceActivity& one : part.trace.activities)
    sums[{one.pass, one.step}].device_seconds += one.end_seconds - one.begin_seconds;
  std::set<int32_t> passes;
  for (const TraceInterval& pass : part.trace.passes) passes.insert(pass.pass);
  part.trace.step_sums.clear();
  part.steps.clear();
  for (size_t i = 0; i < whole.step_sums.size(); ++i) {
    TraceStepSum sum = whole.step_sums[i];
    const bool in_range = passes.contains(sum.pass);
    if (!in_range && !cut_device) continue;
    const TraceStepSum& inside = sums[{sum.pass, sum.step}];  // kernels may run after their pass
    if (cut_host || !in_range) std::tie(sum.calls, sum.seconds) = std::tie(inside.calls, inside.seconds);
    if (cut_device) sum.device_seconds = inside.device_seconds;
    if (sum.seconds <= 0 && sum.device_seconds <= 0) continue;
    part.trace.step_sums.push_back(sum);
    part.steps.push_back(recorded.steps[i]);
  }
  return part;
}

std::vector<Table> gpu_tables(const RecordedTrace& recorded) {
  std::vector<Table> tables{gpu_passes_table(recorded), gpu_steps_table(recorded), activities_table(recorded),
                            streams_table(recorded)};
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

namespace {

std::string captured_sentence(const Trace& trace) {
  std::string text;
  for (const TraceSource& source : trace.sources) {
    if (!source.captured) continue;
    text += (text.empty() ? "" : ", ") + source.name;
    if (!source.detail.empty()) text += " (" + source.detail + ")";
  }
  if (text.empty()) return trace.sources.empty() ? "" : "No source of GPU records captured anything.";
  return "GPU records: " + text + ".";
}

std::string driver_sentence(const Timeline& timeline) {
  const std::optional<DriverDifference> largest = largest_difference(timeline);
  if (!largest) return "";
  const auto bytes = [](int64_t count) { return format(Unit::bytes, double(count)); };
  const int64_t difference = largest->driver_bytes - largest->counted_bytes;
  const auto asked = static_cast<int64_t>(timeline.driver().size());
  if (difference == 0) {
    return "The driver reported its memory " + counted(asked, "time", "times") +
           ", always the sum of all kinds of memory.";
  }
  return "The driver reported its memory " + counted(asked, "time", "times") + ". After " +
         format(Unit::seconds, largest->seconds) +
         " its figure differed most from the sum of all kinds of memory: it was " +
         bytes(std::abs(difference)) + (difference > 0 ? " more, " : " less, ") +
         bytes(largest->driver_bytes) + " instead of " + bytes(largest->counted_bytes) + ".";
}

}  // namespace

std::vector<std::string> watch_sentences(const Trace& trace, const Timeline& timeline) {
  std::vector<std::string> sentences{captured_sentence(trace)};
  for (const TraceSource& source : trace.sources) {
    if (source.captured) continue;
    sentences.push_back(source.name + ": not captured" +
                        (source.detail.empty() ? "." : ": " + source.detail + "."));
  }
  if (trace.records_lost > 0) {
    sentences.push_back(counted(trace.records_lost, "record was lost.", "records were lost.") +
                        " The trace is incomplete.");
  }
  sentences.push_back(driver_sentence(timeline));
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> activity_sentences(const Trace& trace) {
  std::vector<std::string> sentences;
  if (trace.activities_left_out > 0) {
    sentences.push_back("The list has the first " +
                        counted(static_cast<int64_t>(trace.activities.size()), "activity", "activities") +
                        " of the GPU. The tables by names and streams leave out " +
                        counted(trace.activities_left_out, "later one", "later ones") +
                        ". The tables by passes and steps have all of them.");
  }
  if (trace.activities_of_no_step > 0) {
    sentences.push_back(counted(trace.activities_of_no_step, "activity belongs", "activities belong") +
                        " to no known step. The times of passes and steps leave " +
                        (trace.activities_of_no_step == 1 ? "it" : "them") + " out.");
  }
  return sentences;
}

}  // namespace headroom::reports
