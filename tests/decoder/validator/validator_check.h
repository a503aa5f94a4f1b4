#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "decoder/validator/validator.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom::testing {

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

inline void accepts(const Plan& plan, const Graph& graph) {
  const std::vector<Violation> found = validate(plan, graph, kSmallLatent);
  INFO(to_text(found));
  CHECK(found.empty());
}

}  // namespace headroom::testing
