#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/solver.h"

namespace headroom {

/// What a plan may use, and how long it may take to find it.
struct PlanOptions {
  int64_t limit_bytes = 0;
  int64_t host_limit_bytes = 0;     ///< 0: no tensor lives in host memory
  int64_t scratch_limit_bytes = 0;  ///< 0: none in a scratch file
  std::string scratch_folder{};
  /// When parameters are on the device; whichever is faster where it is left open.
  std::optional<WeightResidency> weights{};
  /// How long to search; until the best is proven where it is left open.
  std::optional<double> time_budget_seconds{};
};

/// The spaces of every frame that the options allow: together they are what is searched.
std::vector<std::unique_ptr<PlanSpace>> spaces_of(const Model& model, const Request& request, const PlanOptions& options,
                                                  const CostModel& costs);

/// The fastest plan under the options' limits over all frames, checked by the validator.
/// Throws DoesNotFit with the smallest limit that would do, what stands in the way, and what else would help;
/// InputError where the time budget ends before any plan was found.
Plan make_plan(const Model& model, const Request& request, const PlanOptions& options, const CostModel& costs);

/// The plan of a solution, checked by the validator: one that does not pass is a fault of ours (std::logic_error).
Plan plan_of(const Solution& solution, const Model& model, const Request& request, const SpaceFrame& frame,
             const PlanOptions& options, const CostModel& costs);

/// Seconds of the whole batch, of which a solution runs one slice.
double batch_seconds(const Solution& solution, const Request& request, const PlanSpace& space);

}  // namespace headroom
