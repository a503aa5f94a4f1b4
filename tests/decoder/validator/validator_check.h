#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "decoder/validator/validator.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom::testing {

struct DrawnPlan {
  Model model;
  Plan plan;
};

inline std::string to_text(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& v : violations) text += v.place + ": " + name_of(v.kind) + ": " + v.what + "\n";
  return text;
}

/// The plan must be refused, and for this reason at this place before any other.
inline void refuses(const Plan& plan, const Graph& graph, Violation::Kind kind, const std::string& place) {
  const std::vector<Violation> found = validate(plan, graph, kSmallLatent);
  INFO(to_text(found));
  REQUIRE_FALSE(found.empty());
  CHECK(std::string(name_of(found[0].kind)) == name_of(kind));
  CHECK(found[0].place == place);
}

/// True if the validator refuses a damaged plan with this violation among others.
inline bool refused_as(const Plan& plan, const Model& model, Violation::Kind kind) {
  const std::vector<Violation> found = validate(plan, model);
  UNSCOPED_INFO(name_of(kind) << " expected, found\n" << to_text(found));
  return std::any_of(found.begin(), found.end(), [&](const Violation& v) { return v.kind == kind; });
}

inline void accepts(const Plan& plan, const Graph& graph) {
  const std::vector<Violation> found = validate(plan, graph, kSmallLatent);
  INFO(to_text(found));
  CHECK(found.empty());
}

}  // namespace headroom::testing
