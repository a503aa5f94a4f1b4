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
  /// Measured over predicted; none where nothing was predicted.
  std::optional<double> ratio() const {
    return predicted > 0 ? std::optional(double(measured) / double(predicted)) : std::nullopt;
  }
};

/// How many seconds more or less than predicted a pass took.
double seconds_off(const Outcome<double>& seconds);

/// Passes of a run by seconds_off(), the largest first: their numbers. Its first is the worst pass, of which
/// explain, report and window speak.
std::vector<size_t> worst_passes(const std::vector<PassStats>& passes);

/// Passes of a plan by their predicted seconds, the longest first: their numbers.
std::vector<size_t> longest_passes(const Plan& plan);

struct PassAnalysis {
  size_t pass = 0;  ///< its number in the plan
  std::string name;
  Outcome<int64_t> peak_bytes;
  Outcome<double> seconds;
  bool decided_peak = false;  ///< the pass whose measured peak is the largest, the first of several
};

/// A plan beside a run of it, in the manner of a database's EXPLAIN ANALYZE.
struct Analysis {
  std::vector<PassAnalysis> passes;  ///< as worst_passes() ranks them
  Outcome<int64_t> peak_bytes;       ///< the whole decode, growth outside the pool included
  Outcome<double> seconds;
  int64_t limit_bytes = 0;
  int64_t outside_bytes = 0;
  bool assumed = true;      ///< of the plan's costs
  Environment planned_for;  ///< of the plan's profile
  Environment ran_on;
};

/// True where the statistics are of a run of this plan, as far as can be seen: the same limit and peak, and
/// the same passes by number and name. Those of a queue belong to no single plan.
bool belongs_to(const Plan& plan, const RunStats& stats);

/// Throws InputError naming `stats_origin` and the key where the statistics do not belong to the plan.
Analysis analyze(const Plan& plan, const std::string& plan_origin, const RunStats& stats,
                 const std::string& stats_origin);

/// A table for people.
std::string to_text(const Analysis& analysis);
/// JSON for programs. Ratios are null where nothing was predicted.
nlohmann::json to_json(const Analysis& analysis);

}  // namespace headroom::planner
