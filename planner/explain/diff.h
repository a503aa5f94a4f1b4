#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// One value that differs, by its key in the plan file. Null where a plan has no such thing.
struct Difference {
  std::string key;
  nlohmann::json a, b;
};

/// A kept tensor or a pass that differs: in single values, or since only one plan has it.
struct PartDifference {
  enum Side { both, only_a, only_b };
  std::string name;
  int64_t pass = -1;  ///< of passes, their number
  Side side = both;
  std::vector<Difference> values;  ///< of the one plan alone, null in the other, where only that has it
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

/// The graphs are those of the plans' models, which need not be the same. For any two plans that could be
/// read, valid or not. Empty where the plans are equal.
PlanDiff diff_plans(const Plan& a, const Graph& graph_a, const Plan& b, const Graph& graph_b);

/// A key in words: `predicted.peak_bytes` is "predicted peak".
std::string key_text(std::string key);
/// A value as its key's unit asks for: "1.2 GiB"; "none" where there is none.
std::string value_text(const std::string& key, const nlohmann::json& value);

/// The differences for people, or "no difference".
std::string to_text(const PlanDiff& diff);
/// JSON for programs: `equal`, and `whole`, `kept`, `passes` with `a`, `b` and, for bytes and seconds,
/// `ratio`.
nlohmann::json to_json(const PlanDiff& diff);

}  // namespace headroom::planner
