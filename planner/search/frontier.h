#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/search/configurations.h"

namespace headroom::planner {

/// One plan of the frontier.
struct FrontierPoint {
  int64_t peak_bytes = 0;  ///< on CUDA with gaps; also the smallest limit that this plan has room under
  double seconds = 0;      ///< on CUDA with those of what is moved between passes
  Configuration configuration;
};

/// Peak against time: the fastest plan under each of up to `most` limits, from the smallest that works to
/// where more memory gains nothing, spread evenly in their logarithms. Largest peak first; each point is
/// slower and smaller than the one before. All limits are searched in the same spaces, so what one finds out
/// serves the others. The limit of the options is not used.
std::vector<FrontierPoint> frontier(const Problem& problem, size_t most);

constexpr int64_t kFrontierVersion = 2;

/// "headroom.frontier" (docs/formats.md).
nlohmann::json to_json(const std::vector<FrontierPoint>& points, const Request& request, bool assumed);
std::string frontier_csv(const std::vector<FrontierPoint>& points);
/// A line for each point, at most `columns` wide (never less than 40): its peak, its time, and the time as a
/// mark on a logarithmic scale from the fastest to the slowest.
std::string frontier_plot(const std::vector<FrontierPoint>& points, const Request& request, int columns);

}  // namespace headroom::planner
