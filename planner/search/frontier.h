#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/search/configurations.h"

namespace headroom::planner {

/// One plan of the frontier.
struct FrontierPoint {
  int64_t peak_bytes = 0;  ///< on CUDA with gaps; also the smallest limit that fits this plan
  double seconds = 0;      ///< on CUDA with the copies that move tensors between passes
  Configuration configuration;
};

/// Fastest plan under each of up to `most` limits, from the largest useful limit down to the smallest
/// feasible one. The limits are spaced evenly on a logarithmic scale. Points are sorted by peak, largest
/// first. Each point is smaller and slower than the one before. All searches share the same spaces, so they
/// share what they have computed. Ignores the limit of the options.
std::vector<FrontierPoint> frontier(const Problem& problem, size_t most);

constexpr int64_t kFrontierVersion = 2;

/// "headroom.frontier" (docs/formats.md).
nlohmann::json to_json(const std::vector<FrontierPoint>& points, const Request& request, bool assumed);
std::string frontier_csv(const std::vector<FrontierPoint>& points);
/// Plain-text plot with one line for each point, at most `columns` wide (but at least 40). A line has the
/// peak, the time, and a mark for the time on a logarithmic scale.
std::string frontier_plot(const std::vector<FrontierPoint>& points, const Request& request, int columns);

}  // namespace headroom::planner
