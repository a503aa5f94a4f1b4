#include "planner/search/frontier.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/graph/amounts.h"
#include "decoder/plan/plan_file.h"

namespace headroom::planner {
namespace {

std::optional<FrontierPoint> best_under(const Spaces& spaces, const Request& request, int64_t limit_bytes) {
  const ConfigurationSearch search = fastest_over(spaces, request, limit_bytes);
  if (!search.best) return std::nullopt;
  return FrontierPoint{search.best->solution.peak_bytes, search.best->seconds, search.best->configuration};
}

const char* lower_tier_of(const Configuration& configuration) {
  return configuration.lower_tier ? name_of(*configuration.lower_tier) : "none";
}

}  // namespace

std::vector<FrontierPoint> frontier(const Problem& problem, size_t most) {
  const Spaces spaces = spaces_of(problem);
  const int64_t smallest = smallest_over(spaces).smallest.bytes;
  std::vector<FrontierPoint> points;
  int64_t limit = std::numeric_limits<int64_t>::max();
  double ratio = 1;
  while (limit >= smallest && points.size() < most) {
    const std::optional<FrontierPoint> best = best_under(spaces, problem.request, limit);
    if (!best) break;
    // As fast with less: the search under the larger limit found one of several equals.
    if (!points.empty() && best->seconds <= points.back().seconds * (1 + 1e-12)) points.pop_back();
    points.push_back(*best);
    if (points.size() == 1 && most > 1)
      ratio = std::pow(double(smallest) / double(best->peak_bytes), 1.0 / double(most - 1));
    if (best->peak_bytes <= smallest) break;
    // The last of the limits is the smallest itself.
    const auto next =
        static_cast<int64_t>(double(points.front().peak_bytes) * std::pow(ratio, double(points.size())));
    limit = std::max(smallest, std::min(best->peak_bytes - 1, points.size() + 1 == most ? smallest : next));
  }
  return points;
}

nlohmann::json to_json(const std::vector<FrontierPoint>& points, const Request& request, bool assumed) {
  nlohmann::json list = nlohmann::json::array();
  for (const FrontierPoint& point : points) {
    list.push_back({{"peak_bytes", point.peak_bytes},
                    {"seconds", point.seconds},
                    {"weights", name_of(point.configuration.weights)},
                    {"slice_items", point.configuration.micro_batch},
                    {"lower_place", lower_tier_of(point.configuration)}});
  }
  return {{"schema", "headroom.frontier"},
          {"version", 1},
          {"request", to_json(request)},
          {"assumed", assumed},
          {"points", std::move(list)}};
}

std::string frontier_csv(const std::vector<FrontierPoint>& points) {
  std::string text = "peak_bytes,seconds,weights,slice_items,lower_place\n";
  for (const FrontierPoint& point : points) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.9g", point.seconds);
    text += std::to_string(point.peak_bytes) + "," + seconds + "," + name_of(point.configuration.weights) +
            "," + std::to_string(point.configuration.micro_batch) + "," + lower_tier_of(point.configuration) +
            "\n";
  }
  return text;
}

std::string frontier_plot(const std::vector<FrontierPoint>& points) {
  constexpr double kColumns = 60;
  double slowest = 0;
  for (const FrontierPoint& point : points) slowest = std::max(slowest, point.seconds);
  std::string text;
  for (const FrontierPoint& point : points) {
    char figures[64];
    std::snprintf(figures, sizeof figures, "%12s %10s  ", format_bytes(point.peak_bytes).c_str(),
                  format_seconds(point.seconds).c_str());
    text += figures;
    for (double drawn = 0; drawn < std::round(kColumns * point.seconds / slowest); ++drawn) text += "▇";
    text += point.configuration.weights == WeightResidency::per_pass ? "  weights per pass\n" : "\n";
  }
  return text;
}

}  // namespace headroom::planner
