#pragma once

#include <memory>
#include <string>
#include <utility>

#include "planner/search/make_plan.h"
#include "reports/figures/document.h"
#include "tests/support/random_plan.h"
#include "tests/support/run_as_predicted.h"
#include "tests/support/tiny_model.h"

namespace headroom::test {}
namespace headroom::reports::test {
using namespace headroom::test;

template <typename T>
DocumentPtr document_of(T contents, const std::string& file) {
  return std::make_shared<const Document>(Document{file, std::move(contents)});
}

/// A decoder that makes 4×4 pixels of every position, with attention.
inline Model small_decoder() {
  Model model = model_of(tiny_config({16, 32, 48}));
  model.name = "small";
  return model;
}

inline constexpr int64_t kAmple = int64_t{1} << 50;

inline PlanDocument planned(const Model& model, const Request& request, int64_t limit_bytes,
                            const planner::CostModel& costs) {
  return {planner::make_plan({model, request, {.limit_bytes = limit_bytes}, costs}).value(), model};
}

inline int64_t smallest_bytes(const Model& model, const Request& request, const planner::PlanOptions& options,
                              const planner::CostModel& costs) {
  return planner::smallest_over(planner::spaces_of({model, request, options, costs})).smallest.bytes;
}

/// Two layers at two sizes, made up: every figure is another one.
inline profiler::Profile made_up_profile() {
  profiler::Profile profile;
  profile.model = "small";
  profile.device = "two cores";
  profile.libraries = "LibTorch";
  profile.weights_bytes = 5'000;
  profile.sizes = {
      {256, 192, 1, 1, 40'000, 0.5, "b", {{"weights", 20'000}, {"a", 11'000}, {"workspace", 9'000}}},
      {512, 384, 1, 2, 90'000, 2.5, "c", {{"tiles of c", 60'000}, {"weights", 30'000}}}};
  profile.layers = {{"a", "conv", {{100, 1'000, 10, 0.125, 1e9}, {400, 4'000, 40, 0.5, 4e9}}, "law"},
                    {"b", "norm", {{101, 1'001, 11, 0.0625, 2e9}, {401, 4'001, 41, 0.25, 8e9}}, "law"},
                    {"c", "add", {{102, 1'002, 12, 0.25, 3e9}, {402, 4'002, 42, 1.5, 12e9}}, "sum"},
                    {"d", "add", {{103, 1'003, 13, 0.0625, 3e9}, {403, 4'003, 43, 0.25, 12e9}}, "sum"}};
  return profile;
}

}  // namespace headroom::reports::test
