#include "planner/explain/remedy.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

TEST_CASE("remedies that are taken already, or that the model does not have, are none") {
  Model model = test::model_of(test::tiny_config({32, 64, 128}));
  model.force_upcast = false;
  const CostModel costs(model.graph);
  Request request{"small", 512, 512, 1, 1, Dtype::fp32};
  PlanOptions options;
  using Changes = std::vector<std::string>;
  const auto changes = [&] {
    Changes list;
    for (const RemedyCandidate& candidate : remedy_candidates({model, request, options, costs})) {
      CHECK_FALSE(candidate.remedy.meaning.empty());
      list.push_back(candidate.remedy.option);
    }
    std::sort(list.begin(), list.end());
    return list;
  };
  CHECK(changes() == Changes{"--dtype bf16", "--dtype fp16", "--scratch DIR"});
  options.weights = WeightResidency::resident;
  CHECK(changes() == Changes{"--dtype bf16", "--dtype fp16", "--scratch DIR", "--weights-residency auto"});
  options.weights.reset();
  model.force_upcast = true;
  CHECK(changes() == Changes{"--dtype bf16", "--scratch DIR"});
  options.scratch_folder = "/";
  options.scratch_limit_bytes = 4096;
  CHECK(changes() == Changes{"--dtype bf16", "--scratch-limit"});
  options.scratch_limit_bytes = int64_t{1} << 50;
  CHECK(changes() == Changes{"--dtype bf16"});
  request.dtype = Dtype::bf16;
  CHECK(changes().empty());
}

}  // namespace
}  // namespace headroom::planner
