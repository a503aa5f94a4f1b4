#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "planner/cost/cost_model.h"
#include "planner/search/configurations.h"
#include "reports/figures/chart.h"
#include "reports/figures/document.h"

namespace headroom::reports {

struct ScalingPoint {
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t bytes = 0;
  double seconds = 0;  ///< measured time; 0: not measured
  int64_t pixels() const { return width_pixels * height_pixels; }
};

/// The decoder and request to scale. The request's own size does not matter.
struct ScaledDecoder {
  Model model;
  Request request;
};

/// Peak against resolution. Each series ascends by pixels.
struct Scaling {
  int64_t limit_bytes = 0;                     ///< limit to draw; none if 0, or from 2^62 up
  std::vector<ScalingPoint> untiled;           ///< diffusers' peaks (planner::untiled_peak()); may be empty
  std::vector<ScalingPoint> planned;           ///< smallest limit that has a plan, by size
  std::vector<ScalingPoint> measured_untiled;  ///< from a profile
  std::vector<ScalingPoint> measured;          ///< from runs of plans
  std::optional<ScaledDecoder> decoder{};      ///< unset: add_measured() adds measurements of any decoder
};

/// A ladder of sizes: the longer side goes from 256 to `most_pixels_across` pixels. Sides are powers of two
/// and 1.5 times these. Each size has the request's shape as nearly as the decoder's scale allows.
std::vector<Request> size_ladder(const Model& model, const Request& request, int64_t most_pixels_across);

/// The planned and untiled peaks (planner::untiled_peak()) of each size. Sizes ascend. Large ones take
/// seconds. Calls `go_on` before each size, and returns the sizes so far once it returns false.
Scaling scaling(const Model& model, const std::vector<Request>& sizes, const planner::PlanOptions& options,
                const planner::CostModel& costs, const std::function<bool()>& go_on);

/// Adds untiled peaks from profiles, and peaks of runs whose plans are among the documents. Only measurements
/// of the same decoder, dtype, frames and batch are added.
void add_measured(Scaling& scaling, const std::vector<DocumentPtr>& documents);

/// Pixels of the largest size in a series that fits the limit. -1: none fits. If all fit, the last size.
/// Interpolates linearly in logarithms. `series` ascends by pixels.
double largest_pixels_within(const std::vector<ScalingPoint>& series, int64_t limit_bytes);

/// A chart with logarithmic axes, the limit, and notes at the largest sizes that fit. The untiled note uses
/// predictions, or else measurements.
Chart scaling_chart(const Scaling& scaling);

}  // namespace headroom::reports
