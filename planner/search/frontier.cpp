#include "planner/search/frontier.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/plan/plan_file.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {
namespace {

const char* lower_tier_of(const Configuration& configuration) {
  return configuration.lower_tier ? name_of(*configuration.lower_tier) : "none";
}

}  // namespace

std::vector<FrontierPoint> frontier(const Problem& problem, size_t most) {
  const Spaces spaces = spaces_of(problem);
  const int64_t smallest = smallest_over(spaces).smallest.bytes;
  std::vector<FrontierPoint> points;
  size_t left_out = 0;  // points that need more memory or time than another
  int64_t limit = std::numeric_limits<int64_t>::max(), most_live_bytes = 0;
  double ratio = 1;
  while (limit >= smallest && points.size() + left_out < most) {
    const ConfigurationSearch search = fastest_over(spaces, problem.request, limit);
    if (!search.best) break;
    const int64_t live_bytes = search.best->solution.peak_bytes;
    const Needed needed = needed_by(problem, *search.best);
    const FrontierPoint point{needed.limit_bytes, needed.seconds, search.best->configuration};
    if (points.empty() || point.peak_bytes < points.back().peak_bytes) {
      // This plan is at least as fast with less memory: gaps and copies cost the larger ones more time.
      for (; !points.empty() && point.seconds <= points.back().seconds * (1 + 1e-12); ++left_out)
        points.pop_back();
      points.push_back(point);
    } else {
      ++left_out;
    }
    const size_t done = points.size() + left_out;
    if (done == 1) most_live_bytes = live_bytes;
    if (done == 1 && most > 1)
      ratio = std::pow(double(smallest) / double(live_bytes), 1.0 / double(most - 1));
    if (live_bytes <= smallest) break;
    // The last of the limits is the smallest itself.
    const auto next = static_cast<int64_t>(double(most_live_bytes) * std::pow(ratio, double(done)));
    limit = std::max(smallest, std::min(live_bytes - 1, done + 1 == most ? smallest : next));
  }
  for (FrontierPoint& point : points) point.seconds *= problem.costs.learnt().ratio;
  return points;
}

nlohmann::json to_json(const std::vector<FrontierPoint>& points, const Request& request, bool assumed) {
  nlohmann::json list = nlohmann::json::array();
  for (const FrontierPoint& point : points) {
    list.push_back({{"peak_bytes", point.peak_bytes},
                    {"seconds", point.seconds},
                    {"weights", name_of(point.configuration.weights)},
                    {"micro_batch", point.configuration.micro_batch},
                    {"lower_tier", lower_tier_of(point.configuration)}});
  }
  return {{"schema", "headroom.frontier"},
          {"version", kFrontierVersion},
          {"request", to_json(request)},
          {"assumed", assumed},
          {"points", std::move(list)}};
}

std::string frontier_csv(const std::vector<FrontierPoint>& points) {
  std::string text = "peak_bytes,seconds,weights,micro_batch,lower_tier\n";
  for (const FrontierPoint& point : points) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.9g", point.seconds);
    text += std::to_string(point.peak_bytes) + "," + seconds + "," + name_of(point.configuration.weights) +
            "," + std::to_string(point.configuration.micro_batch) + "," + lower_tier_of(point.configuration) +
            "\n";
  }
  return text;
}

std::string frontier_plot(const std::vector<FrontierPoint>& points, const Request& request, int columns) {
  if (points.empty()) return "";
  constexpr int kFigures = 24;  // "  1105.6 MiB    33.50 s  "
  const char* per_pass = "  weights per pass";
  const auto [fast, slow] = std::minmax_element(
      points.begin(), points.end(),
      [](const FrontierPoint& a, const FrontierPoint& b) { return a.seconds < b.seconds; });
  const int scale = std::max(12, columns - kFigures - static_cast<int>(std::string(per_pass).size()));
  const std::string left = format_seconds(fast->seconds), right = format_seconds(slow->seconds);
  std::string text = request.model + " " + std::to_string(request.width_pixels) + "x" +
                     std::to_string(request.height_pixels) + " in " + arithmetic_of(request) +
                     ": the fastest plan of each peak; time on a log scale\n";
  const auto figures = [&](const std::string& peak, const std::string& seconds) {
    char line[64];
    std::snprintf(line, sizeof line, "%12s %9s  ", peak.c_str(), seconds.c_str());
    text += line;
  };
  figures("peak", "time");
  const int between = scale - static_cast<int>(left.size() + right.size());
  text += left + std::string(static_cast<size_t>(std::max(1, between)), ' ') + right + "\n";
  const double range = slow->seconds > fast->seconds ? std::log(slow->seconds / fast->seconds) : 1;
  for (const FrontierPoint& point : points) {
    figures(format_bytes(point.peak_bytes), format_seconds(point.seconds));
    const auto mark =
        static_cast<int>(std::lround((scale - 1) * std::log(point.seconds / fast->seconds) / range));
    for (int column = 0; column < scale; ++column) text += column == mark ? "●" : "·";
    text += point.configuration.weights == WeightResidency::per_pass ? std::string(per_pass) + "\n" : "\n";
  }
  return text;
}

}  // namespace headroom::planner
