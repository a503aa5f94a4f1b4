#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// One differing value, with its key in the plan file. A side is null if its plan has no such value.
struct Difference {
  std::string key;
  nlohmann::json a, b;
};

/// A kept tensor or a pass that differs, or that only one plan has.
struct PartDifference {
  enum Side { both, only_a, only_b };
  std::string name;
  int64_t pass = -1;  ///< index of a pass; -1 for tensors
  Side side = both;
  std::vector<Difference> values;  ///< if only one plan has the part, the other side's values are null
};

/// Differences between two plans. Tensors are matched by name, passes by number and name.
struct PlanDiff {
  std::vector<Difference> whole;  ///< request, limits, weights, predictions
  std::vector<PartDifference> kept;
  std::vector<PartDifference> passes;
  size_t same_kept = 0;
  size_t same_passes = 0;
  bool empty() const { return whole.empty() && kept.empty() && passes.empty(); }
};

/// Compares two plans, which may be invalid. The graphs belong to the plans' models and may differ. The
/// result is empty if the plans are equal.
PlanDiff diff_plans(const Plan& a, const Graph& graph_a, const Plan& b, const Graph& graph_b);

/// A key in words: `predicted.peak_bytes` is "predicted peak".
std::string key_text(std::string key);
/// A value with the unit of its key: "1.2 GiB". "none" for null.
std::string value_text(const std::string& key, const nlohmann::json& value);

/// The differences for people, or "no difference".
std::string to_text(const PlanDiff& diff);
/// JSON for programs: `equal`, and `whole`, `kept`, `passes` with `a`, `b` and, for bytes and seconds,
/// `ratio`.
nlohmann::json to_json(const PlanDiff& diff);

}  // namespace headroom::planner
