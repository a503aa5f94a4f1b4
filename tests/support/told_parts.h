#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>
#include <vector>

#include "decoder/interpreter/events.h"

namespace headroom::test {

/// One after another, the shares that were told of each step on each tile.
class ToldParts final : public EventSink {
 public:
  using Where = std::tuple<int32_t, int64_t, int32_t>;  ///< pass, tile, step

  void step_part_done(const Plan& plan, const StepPart& part) override {
    const Pass& pass = plan.passes[static_cast<size_t>(part.pass)];
    shares[pass.steps[static_cast<size_t>(part.step)].kind][{part.pass, part.tile, part.step}].push_back(
        part.share);
  }
  std::map<StepKind, std::map<Where, std::vector<double>>> shares;
};

/// What is told of each step of the kind rises and ends with all of it. Returns the most that was told of
/// one.
inline size_t most_told(const ToldParts& told, StepKind kind) {
  size_t most = 0;
  REQUIRE(told.shares.contains(kind));
  for (const auto& [where, shares] : told.shares.at(kind)) {
    CHECK(shares.front() > 0);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.back() == 1);
    most = std::max(most, shares.size());
  }
  return most;
}

}  // namespace headroom::test
