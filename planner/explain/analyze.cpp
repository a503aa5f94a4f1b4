#include "planner/explain/analyze.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/short_name.h"

namespace headroom::planner {
namespace {

using nlohmann::json;

/// Indices of `values`, sorted by value, largest first. Equal values keep their order.
std::vector<size_t> largest_first(const std::vector<double>& values) {
  std::vector<size_t> numbers(values.size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  std::stable_sort(numbers.begin(), numbers.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
  return numbers;
}

std::string difference_text(const Outcome<double>& seconds) {
  const double difference = seconds.measured - seconds.predicted;
  return (difference < 0 ? "-" : "+") + format_seconds(std::abs(difference));
}

/// Text from a file, escaped so that it stays on one line.
std::string quoted(const std::string& text) {
  return json(text.substr(0, 80)).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// A value in the statistics that a run of the plan cannot have written.
struct Mismatch {
  std::string key, expected, found;
};

std::optional<Mismatch> mismatch(const Plan& plan, const RunStats& stats) {
  const auto differs = [](const char* key, int64_t expected, int64_t found) {
    return Mismatch{key, std::to_string(expected), std::to_string(found)};
  };
  if (plan.limit_bytes != stats.limit_bytes)
    return differs("limit_bytes", plan.limit_bytes, stats.limit_bytes);
  if (plan.passes.size() != stats.passes.size()) {
    return Mismatch{"passes", std::to_string(plan.passes.size()) + " passes",
                    std::to_string(stats.passes.size())};
  }
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    if (plan.passes[i].name == stats.passes[i].name) continue;
    return Mismatch{"passes[" + std::to_string(i) + "].name", quoted(plan.passes[i].name),
                    quoted(stats.passes[i].name)};
  }
  if (plan.predicted_peak_bytes != stats.predicted_peak_bytes)
    return differs("predicted_peak_bytes", plan.predicted_peak_bytes, stats.predicted_peak_bytes);
  return std::nullopt;
}

std::string ratio_text(const std::optional<double>& ratio) {
  if (!ratio) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", *ratio);
  return text;
}

/// Formats a table. A column is as wide as its widest cell. The second column is left-aligned, all others are
/// right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      const bool left = c == 1 || c + 1 == widths.size();
      line += (c == 0 ? "" : "  ") + (left ? row[c] + padding : padding + row[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::vector<std::string> cells(const Outcome<int64_t>& peak, const Outcome<double>& seconds) {
  return {format_seconds(seconds.predicted), format_seconds(seconds.measured), difference_text(seconds),
          ratio_text(seconds.ratio()),       format_bytes(peak.predicted),     format_bytes(peak.measured),
          ratio_text(peak.ratio())};
}

template <typename T>
json to_json(const Outcome<T>& outcome) {
  return {{"predicted", outcome.predicted},
          {"measured", outcome.measured},
          {"ratio", outcome.ratio() ? json(*outcome.ratio()) : json(nullptr)}};
}

json to_json(const Environment& environment) {
  return {{"device", environment.device}, {"libraries", environment.libraries}};
}

}  // namespace

double seconds_off(const Outcome<double>& seconds) {
  return std::abs(seconds.measured - seconds.predicted);
}

std::vector<size_t> worst_passes(const std::vector<PassStats>& passes) {
  std::vector<double> off;
  off.reserve(passes.size());
  for (const PassStats& pass : passes) off.push_back(seconds_off({pass.predicted_seconds, pass.seconds}));
  return largest_first(off);
}

std::vector<size_t> longest_passes(const Plan& plan) {
  std::vector<double> seconds;
  for (const Pass& pass : plan.passes) seconds.push_back(pass.predicted_seconds);
  return largest_first(seconds);
}

bool belongs_to(const Plan& plan, const RunStats& stats) {
  return !mismatch(plan, stats);
}

Analysis analyze(const Plan& plan, const std::string& plan_origin, const RunStats& stats,
                 const std::string& stats_origin) {
  if (const std::optional<Mismatch> other = mismatch(plan, stats)) {
    throw InputError(stats_origin + ": " + other->key + ": expected " + other->expected + " as in " +
                     plan_origin + ", found " + other->found + "; these are statistics of another plan");
  }
  Analysis analysis;
  analysis.limit_bytes = plan.limit_bytes;
  analysis.outside_bytes = stats.outside_bytes;
  analysis.peak_bytes = {plan.predicted_peak_bytes, stats.peak_bytes};
  analysis.seconds = {plan.predicted_seconds, stats.seconds};
  analysis.assumed = plan.assumed;
  analysis.planned_for = plan.environment;
  analysis.ran_on = {stats.device, stats.libraries};
  std::vector<double> off;
  for (size_t i = 0; i < plan.passes.size(); ++i)
    off.push_back(seconds_off({plan.passes[i].predicted_seconds, stats.passes[i].seconds}));
  for (const size_t i : largest_first(off)) {
    analysis.passes.push_back({i,
                               plan.passes[i].name,
                               {plan.passes[i].predicted_peak_bytes, stats.passes[i].peak_bytes},
                               {plan.passes[i].predicted_seconds, stats.passes[i].seconds}});
  }
  // Among passes with the same peak, the first in the plan wins.
  const auto largest = std::max_element(
      analysis.passes.begin(), analysis.passes.end(), [](const PassAnalysis& a, const PassAnalysis& b) {
        return a.peak_bytes.measured != b.peak_bytes.measured ? a.peak_bytes.measured < b.peak_bytes.measured
                                                              : a.pass > b.pass;
      });
  if (largest != analysis.passes.end()) largest->decided_peak = true;
  return analysis;
}

std::string to_text(const Analysis& analysis) {
  std::vector<std::vector<std::string>> rows{{"pass", "name", "time predicted", "measured", "difference",
                                              "ratio", "peak predicted", "measured", "ratio"}};
  const auto add = [&](const std::string& number, const std::string& name,
                       const std::vector<std::string>& figures) {
    rows.push_back({number, name});
    rows.back().insert(rows.back().end(), figures.begin(), figures.end());
  };
  for (const PassAnalysis& pass : analysis.passes) {
    add(std::to_string(pass.pass), short_name(pass.name), cells(pass.peak_bytes, pass.seconds));
    rows.back().push_back(pass.decided_peak ? "<- the measured peak" : "");
  }
  add("", "whole decode", cells(analysis.peak_bytes, analysis.seconds));
  std::string text =
      "sorted by the difference from the predicted time, largest first; ratios are measured over "
      "predicted\n" +
      table(rows);
  text += "limit " + format_bytes(analysis.limit_bytes) + "; " + std::to_string(analysis.outside_bytes) +
          " bytes of growth of other process memory, which the passes do not include\n";
  text += "ran on " + analysis.ran_on.device + "; " + analysis.ran_on.libraries + "\n";
  if (analysis.assumed) {
    text += "the plan's costs are assumptions: give headroom-plan a --profile of this machine\n";
  } else if (analysis.planned_for != Environment{} && analysis.planned_for != analysis.ran_on) {
    text += "planned for " + analysis.planned_for.device + "; " + analysis.planned_for.libraries + "\n";
  }
  return text;
}

json to_json(const Analysis& analysis) {
  json passes = json::array();
  for (const PassAnalysis& pass : analysis.passes) {
    passes.push_back({{"pass", pass.pass},
                      {"name", pass.name},
                      {"peak_bytes", to_json(pass.peak_bytes)},
                      {"seconds", to_json(pass.seconds)},
                      {"decided_peak", pass.decided_peak}});
  }
  return {{"limit_bytes", analysis.limit_bytes},
          {"outside_bytes", analysis.outside_bytes},
          {"peak_bytes", to_json(analysis.peak_bytes)},
          {"seconds", to_json(analysis.seconds)},
          {"assumed", analysis.assumed},
          {"planned_for", to_json(analysis.planned_for)},
          {"ran_on", to_json(analysis.ran_on)},
          {"passes", std::move(passes)}};
}

}  // namespace headroom::planner
