#include "planner/explain/remedy.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "planner/search/make_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

Request request_of(int64_t width, int64_t height) {
  return {"small", width, height, 1, 1, Dtype::fp32};
}

const auto always = [] { return true; };

/// Its peak at a small size is not made of materialised tensors.
Model small_decoder() {
  return test::model_of(test::tiny_config({16, 32, 48}));
}

/// Weights, 16 bits and a scratch file all help it.
Model wide_decoder() {
  Model model = test::model_of(test::tiny_config({32, 64, 128}));
  model.force_upcast = false;
  return model;
}

TEST_CASE("every remedy's limit is the smallest one with that remedy") {
  const Model model = wide_decoder();
  const CostModel costs(model.graph);
  const Request request = request_of(512, 512);
  PlanOptions options;
  options.weights = WeightResidency::resident;
  const std::vector<Remedy> found = remedies_at_smallest_limits({model, request, options, costs}, always);
  REQUIRE(found.size() == 5);
  CHECK(found[0].option.empty());
  std::vector<std::string> changes;
  for (const Remedy& remedy : found) {
    CAPTURE(remedy.option);
    changes.push_back(remedy.option);
    CHECK_FALSE(remedy.meaning.empty());
    Request changed = request;
    PlanOptions at = options;
    at.limit_bytes = remedy.smallest_limit_bytes.value();
    if (remedy.option == "--weights-residency auto") at.weights.reset();
    if (remedy.option == "--dtype bf16") changed.dtype = Dtype::bf16;
    if (remedy.option == "--dtype fp16") changed.dtype = Dtype::fp16;
    if (remedy.option == "--scratch DIR") {
      at.scratch_folder = "/";
      at.scratch_limit_bytes = int64_t{1} << 50;
    }
    CHECK(make_plan({model, changed, at, costs}).value().predicted_seconds == Approx(remedy.seconds.value()));
    --at.limit_bytes;
    CHECK_FALSE(make_plan({model, changed, at, costs}));
  }
  for (size_t i = 1; i < found.size(); ++i) {
    CHECK(found[i].smallest_limit_bytes < found[0].smallest_limit_bytes);
    if (i > 1) CHECK(found[i].smallest_limit_bytes >= found[i - 1].smallest_limit_bytes);
  }
  std::sort(changes.begin(), changes.end());
  CHECK(changes == std::vector<std::string>{"", "--dtype bf16", "--dtype fp16", "--scratch DIR",
                                            "--weights-residency auto"});
}

TEST_CASE("remedies that are taken already, or that the model does not have, are none") {
  Model model = wide_decoder();
  const CostModel costs(model.graph);
  Request request = request_of(512, 512);
  PlanOptions options;
  const auto changes = [&] {
    std::vector<std::string> list;
    for (const Remedy& remedy : remedies_at_smallest_limits({model, request, options, costs}, always))
      list.push_back(remedy.option);
    std::sort(list.begin(), list.end());
    return list;
  };
  using Changes = std::vector<std::string>;
  CHECK(changes() == Changes{"", "--dtype bf16", "--dtype fp16", "--scratch DIR"});
  model.force_upcast = true;
  CHECK(changes() == Changes{"", "--dtype bf16", "--scratch DIR"});
  options.scratch_folder = "/";
  options.scratch_limit_bytes = 4096;
  CHECK(changes() == Changes{"", "--dtype bf16", "--scratch-limit"});
  options.scratch_limit_bytes = int64_t{1} << 50;
  CHECK(changes() == Changes{"", "--dtype bf16"});
  request.dtype = Dtype::bf16;
  CHECK(changes() == Changes{""});
}

TEST_CASE("what does not help is no remedy") {
  const Model model = small_decoder();  // whose peak at this size is not made of materialised tensors
  PlanOptions options;
  options.weights = WeightResidency::resident;
  const std::vector<Remedy> found =
      remedies_at_smallest_limits({model, request_of(128, 128), options, CostModel(model.graph)}, always);
  for (size_t i = 1; i < found.size(); ++i)
    CHECK(found[i].smallest_limit_bytes < found[0].smallest_limit_bytes);
}

TEST_CASE("remedies stop where they are told to") {
  const Model model = small_decoder();
  const CostModel costs(model.graph);
  CHECK(remedies_at_smallest_limits({model, request_of(128, 128), {}, costs}, [] { return false; }).empty());
  int asked = 0;
  CHECK(remedies_at_smallest_limits({model, request_of(128, 128), {}, costs}, [&] {
          return ++asked <= 1;
        }).size() == 1);
  CHECK(asked == 2);
}

}  // namespace
}  // namespace headroom::planner
