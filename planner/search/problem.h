#pragma once

#include <optional>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/schedule/memory.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/exchange_costs.h"

namespace headroom::planner {

/// Share of time that the planner gives for memory unless the user says otherwise: 1 %.
constexpr double kDefaultThrift = 0.01;

/// Memory limits of a plan, and the time to search for it.
struct PlanOptions {
  int64_t limit_bytes = 0;
  int64_t host_limit_bytes = 0;     ///< 0: no tensor lives in host memory
  int64_t scratch_limit_bytes = 0;  ///< 0: no tensor lives in a scratch file
  std::string scratch_folder{};
  /// When parameters are on the device. Unset: whichever is faster.
  std::optional<WeightResidency> weights{};
  /// Search time. Unset: until the planner has proven the best plan.
  std::optional<double> time_budget_seconds{};
  /// The planner prefers a plan that needs less memory, if it takes at most this share longer than the
  /// fastest one. 0: always the fastest.
  double thrift = 0;
};

/// One planning problem: a request to a model, under limits, with given costs. Model and costs must outlive
/// it.
struct Problem {
  const Model& model;
  Request request;
  PlanOptions options;
  const CostModel& costs;
  Ranks ranks{};  ///< only make_plans() supports more than one
};

/// Bytes of the limit that a plan can use. A GPU's allocator rounds reservations up, so the largest
/// reservation within the limit may be smaller than the limit.
inline int64_t usable_limit_bytes(const Problem& problem) {
  const int64_t beside = bytes_beside_reservation(problem.model.graph, problem.request);
  return beside + problem.costs.reservation().most_within(problem.options.limit_bytes - beside);
}
/// Limit that a plan of `bytes` needs; the inverse of usable_limit_bytes().
inline int64_t taken_bytes(const Problem& problem, int64_t bytes) {
  const int64_t beside = bytes_beside_reservation(problem.model.graph, problem.request);
  return beside + problem.costs.reservation().taken_bytes(bytes - beside);
}

}  // namespace headroom::planner
