#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"

namespace headroom::planner {

/// A predicted value and the measured one.
template <typename T>
struct Outcome {
  T predicted{};
  T measured{};
  /// Measured ÷ predicted. Unset if the prediction is 0.
  std::optional<double> ratio() const {
    return predicted > 0 ? std::optional(double(measured) / double(predicted)) : std::nullopt;
  }
};

/// Absolute difference between a pass's measured and predicted seconds.
double seconds_off(const Outcome<double>& seconds);

/// Indices of a run's passes, sorted by seconds_off(), largest first. The first entry is the "worst pass"
/// that explain, the report and the window show.
std::vector<size_t> worst_passes(const std::vector<PassStats>& passes);

/// Indices of a plan's passes, sorted by predicted seconds, longest first.
std::vector<size_t> longest_passes(const Plan& plan);

struct PassAnalysis {
  size_t pass = 0;  ///< its number in the plan
  std::string name;
  Outcome<int64_t> peak_bytes;
  Outcome<double> seconds;
  bool decided_peak = false;  ///< the first pass with the largest measured peak
};

/// A plan compared with a run of it, like a database's EXPLAIN ANALYZE.
struct Analysis {
  std::vector<PassAnalysis> passes;  ///< sorted like worst_passes()
  Outcome<int64_t> peak_bytes;       ///< the whole decode, growth outside the pool included
  Outcome<double> seconds;
  int64_t limit_bytes = 0;
  int64_t outside_bytes = 0;
  bool assumed = true;      ///< the plan's costs are assumed
  Environment planned_for;  ///< environment of the plan's profile
  Environment ran_on;
};

/// True if the statistics appear to come from a run of this plan: limit and peak are equal, and so are the
/// indices and names of the passes. Statistics of a queue belong to no single plan.
bool belongs_to(const Plan& plan, const RunStats& stats);

/// Compares a plan with a run of it. Throws InputError with `stats_origin` and the key if the statistics do
/// not belong to the plan.
Analysis analyze(const Plan& plan, const std::string& plan_origin, const RunStats& stats,
                 const std::string& stats_origin);

/// A table for people.
std::string to_text(const Analysis& analysis);
/// JSON for programs. A ratio is null if its prediction is 0.
nlohmann::json to_json(const Analysis& analysis);

}  // namespace headroom::planner
