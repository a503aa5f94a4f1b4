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
  double seconds = 0;  ///< of what was measured; 0 of what was not
  int64_t pixels() const { return width_pixels * height_pixels; }
};

/// The decoder and request to scale. The request's own size does not matter.
struct ScaledDecoder {
  Model model;
  Request request;
};

/// Peak against resolution. Each series ascends by pixels.
struct Scaling {
  int64_t limit_bytes = 0;            ///< 0, or 2^62 and more: none is drawn
  std::vector<ScalingPoint> untiled;  ///< by diffusers, where its code is known (planner::untiled_peak())
  std::vector<ScalingPoint> planned;  ///< the smallest limit under which there is a plan
  std::vector<ScalingPoint> measured_untiled;  ///< from a profile
  std::vector<ScalingPoint> measured;          ///< from runs of plans
  std::optional<ScaledDecoder> decoder{};      ///< none: whatever was measured may be added
};

/// The sizes of a ladder from 256 pixels across (the longer side) to `most_pixels_across`, of the request's
/// shape as nearly as the decoder's scale allows: powers of two and one and a half times these.
std::vector<Request> size_ladder(const Model& model, const Request& request, int64_t most_pixels_across);

/// The planned and untiled peaks of each size, which ascend. The untiled one is
/// planner::untiled_peak(). Takes up to seconds for large ones: `go_on` is asked before each size, and
/// what there is by then is returned where it says false.
Scaling scaling(const Model& model, const std::vector<Request>& sizes, const planner::PlanOptions& options,
                const planner::CostModel& costs, const std::function<bool()>& go_on);

/// Adds untiled peaks from profiles, and peaks of runs whose plans are among the documents. Only measurements
/// of the same decoder, dtype, frames and batch are added.
void add_measured(Scaling& scaling, const std::vector<DocumentPtr>& documents);

/// The largest size of a series that fits the limit, by its pixels; -1 where none does, the last one where
/// all do. Between two sizes the curve is taken as straight in logarithms. `series` ascends by pixels.
double largest_pixels_within(const std::vector<ScalingPoint>& series, int64_t limit_bytes);

/// Both axes logarithmic, with the limit's line and a note at the largest size that fits: untiled, as
/// predicted or else as measured, and planned.
Chart scaling_chart(const Scaling& scaling);

}  // namespace headroom::reports
