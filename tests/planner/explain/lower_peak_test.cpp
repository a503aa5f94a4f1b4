#include "planner/explain/remedy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "decoder/families/load_model.h"
#include "planner/explain/summary.h"
#include "planner/explain/why_not.h"
#include "planner/search/frontier.h"
#include "planner/search/make_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

const auto without_end = [] { return true; };

struct Asked {
  Model model = [] {
    Model wide = test::model_of(test::tiny_config({32, 64, 128}));
    wide.force_upcast = false;
    return wide;
  }();
  CostModel costs{model.graph};
  Request request{"small", 512, 512, 1, 1, Dtype::fp32};
  Plan plan = plan_or_explain({model, request, {.limit_bytes = int64_t{1} << 40}, costs});

  LowerPeak lower(const std::function<bool()>& go_on, PlanOptions options = {}) const {
    return what_would_lower({model, request, options, costs}, plan, go_on);
  }
};

TEST_CASE("what would lower the peak: costs learnt from decodes scale all times alike") {
  Asked asked;
  const LowerPeak before = asked.lower(without_end);
  asked.costs.set_learnt({3, 6.5});
  const LowerPeak beside_old_plan = asked.lower(without_end);  // the plan knows of no learnt ratio
  const double seconds = asked.plan.predicted_seconds;
  asked.plan = plan_or_explain({asked.model, asked.request, {.limit_bytes = int64_t{1} << 40}, asked.costs});
  REQUIRE(asked.plan.predicted_seconds == Approx(6.5 * seconds));
  const LowerPeak learnt = asked.lower(without_end);
  REQUIRE(learnt.remedies.size() == before.remedies.size());
  REQUIRE(beside_old_plan.remedies.size() == before.remedies.size());
  for (size_t i = 0; i < before.remedies.size(); ++i) {
    const Remedy &a = before.remedies[i], &b = learnt.remedies[i], &c = beside_old_plan.remedies[i];
    CAPTURE(a.option);
    CHECK(b.option == a.option);
    CHECK(b.seconds.value() == Approx(6.5 * a.seconds.value()));
    CHECK(c.seconds.value() == Approx(a.seconds.value()));
    REQUIRE(b.about_as_fast.has_value() == a.about_as_fast.has_value());
    if (!a.about_as_fast) continue;
    CHECK(b.about_as_fast->peak_bytes == a.about_as_fast->peak_bytes);
    CHECK(b.about_as_fast->seconds == Approx(6.5 * a.about_as_fast->seconds));
    CHECK(b.about_as_fast->seconds <= kAboutAsFast * asked.plan.predicted_seconds);
  }
}

TEST_CASE("what would lower the peak: each remedy's plans are there and are as fast as said", "[long]") {
  const Asked asked;
  const LowerPeak lower = asked.lower(without_end);
  CHECK(lower.not_looked_at.empty());
  CHECK(lower.not_looked_at_as_fast.empty());
  std::vector<std::string> options;
  for (const Remedy& remedy : lower.remedies) {
    CAPTURE(remedy.option);
    options.push_back(remedy.option);
    Request changed = asked.request;
    PlanOptions with;
    if (remedy.option == "--dtype bf16") changed.dtype = Dtype::bf16;
    if (remedy.option == "--scratch DIR") {
      with.scratch_folder = "/";
      with.scratch_limit_bytes = int64_t{1} << 50;
    }
    const auto check = [&](int64_t bytes, double seconds) {
      with.limit_bytes = bytes;
      const auto plan = make_plan({asked.model, changed, with, asked.costs});
      REQUIRE(plan);
      CHECK(plan->predicted_seconds == Approx(seconds));
      CHECK(plan->predicted_peak_bytes <= bytes);
      CHECK(bytes < asked.plan.predicted_peak_bytes);
    };
    check(remedy.smallest_limit_bytes.value(), remedy.seconds.value());
    with.limit_bytes = *remedy.smallest_limit_bytes - 1;
    CHECK_FALSE(make_plan({asked.model, changed, with, asked.costs}));
    if (!remedy.about_as_fast) continue;
    check(remedy.about_as_fast->peak_bytes, remedy.about_as_fast->seconds);
    CHECK(remedy.about_as_fast->seconds <= asked.plan.predicted_seconds * kAboutAsFast);
    CHECK(remedy.about_as_fast->peak_bytes >= remedy.smallest_limit_bytes);
  }
  CHECK(options.front().empty());
  CHECK(std::set<std::string>(options.begin(), options.end()) ==
        std::set<std::string>{"", "--dtype bf16", "--scratch DIR"});
  for (size_t i = 2; i < lower.remedies.size(); ++i)
    CHECK(lower.remedies[i].smallest_limit_bytes >= lower.remedies[i - 1].smallest_limit_bytes);
  // Without a limit, many remedies are nearly free.
  CHECK(lower.remedies.front().about_as_fast);
}

TEST_CASE("what would lower the peak: on CUDA every limit that is named is one that plans, gaps included",
          "[long]") {
  const Model model = resolve_model("sd15");
  const CostModel costs(model.graph, DeviceKind::cuda);
  const Request request{"sd15", 256, 256, 1, 1, Dtype::fp32, DeviceKind::cuda};
  const Plan plan = plan_or_explain({model, request, {.limit_bytes = int64_t{500} << 20}, costs});
  const LowerPeak lower = what_would_lower({model, request, {}, costs}, plan, without_end);
  REQUIRE(lower.remedies.front().option.empty());
  for (const LowerWay& way : lower_ways(lower)) {
    if (!way.remedy.option.empty()) continue;
    CAPTURE(way.plan.peak_bytes);
    CHECK(make_plan({model, request, {.limit_bytes = way.plan.peak_bytes}, costs}));
  }
  for (const FrontierPoint& point : frontier({model, request, {}, costs}, 6)) {
    CAPTURE(point.peak_bytes);
    const auto found = make_plan({model, request, {.limit_bytes = point.peak_bytes}, costs});
    REQUIRE(found);
    CHECK(found->predicted_seconds <= point.seconds * (1 + 1e-9));
  }
}

TEST_CASE("what would lower the peak: what there was no time for is named, and nothing where none is lower") {
  Asked asked;
  const LowerPeak none = asked.lower([] { return false; });
  CHECK(none.remedies.empty());
  CHECK(none.not_looked_at == std::vector<std::string>{"--limit", "--dtype bf16", "--scratch DIR"});
  CHECK_THAT(summarise(asked.plan, asked.model, none),
             Catch::Contains("not searched, because time ran out: --limit, --dtype bf16, --scratch DIR"));
  CHECK_FALSE(for_seconds(0)());
  CHECK(for_seconds(1000)());

  const int64_t smallest = asked.lower(without_end).remedies.front().smallest_limit_bytes.value();
  asked.plan = plan_or_explain({asked.model, asked.request, {.limit_bytes = smallest}, asked.costs});
  for (const Remedy& remedy : asked.lower(without_end).remedies) CHECK_FALSE(remedy.option.empty());
}

TEST_CASE("what would lower the peak: without the time to find the lowest that is as fast, none is named",
          "[long]") {
  const Asked asked;
  int64_t searches = 0;
  const LowerPeak whole = asked.lower([&] { return ++searches > 0; });
  REQUIRE(searches > 4);
  for (int64_t allowed = 0; allowed < searches; allowed += test::kSanitized ? 12 : 1) {
    CAPTURE(allowed);
    int64_t left = allowed;
    const LowerPeak lower = asked.lower([&] { return left-- > 0; });
    CHECK(lower.not_looked_at.size() + lower.not_looked_at_as_fast.size() > 0);
    // An interrupted search names only remedies that the full search names too.
    for (const LowerWay& way : lower_ways(lower)) {
      const std::vector<LowerWay> all = lower_ways(whole);
      CHECK(std::any_of(all.begin(), all.end(), [&](const LowerWay& other) {
        return other.remedy.option == way.remedy.option && other.about_as_fast == way.about_as_fast &&
               other.plan.peak_bytes == way.plan.peak_bytes && other.plan.seconds == way.plan.seconds;
      }));
    }
  }
}

TEST_CASE("what would lower the peak: a remedy that goes no lower than a smaller limit alone is none",
          "[long]") {
  // At this size, kept tensors do not cause the peak.
  Asked asked;
  asked.model = test::model_of(test::tiny_config({16, 32, 48}));
  asked.costs = CostModel(asked.model.graph);
  asked.request = {"small", 128, 128, 1, 1, Dtype::fp32};
  PlanOptions options;
  options.weights = WeightResidency::resident;
  asked.plan = plan_or_explain({asked.model, asked.request, {.limit_bytes = int64_t{1} << 40}, asked.costs});
  const std::vector<Remedy> remedies = asked.lower(without_end, options).remedies;
  REQUIRE_FALSE(remedies.empty());
  REQUIRE(remedies[0].option.empty());
  for (size_t i = 1; i < remedies.size(); ++i) {
    CAPTURE(remedies[i].option);
    const auto &fast = remedies[i].about_as_fast, &alone = remedies[0].about_as_fast;
    CHECK((remedies[i].smallest_limit_bytes < remedies[0].smallest_limit_bytes ||
           (fast && (!alone || fast->peak_bytes < alone->peak_bytes))));
  }
}

TEST_CASE(
    "a summary says in some lines where the peak is, what is held, what takes long and what lowers it") {
  const Asked asked;
  const LowerPeak lower = asked.lower(without_end);
  const std::string text = summarise(asked.plan, asked.model, lower);
  CAPTURE(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 10);
  CHECK(text.starts_with("small 512x512, fp32 on cpu: "));
  for (const char* part : {"\npeak ", " in pass ", "\nheld ", "kept tensors", "\nlargest ", "\ntime ",
                           "longest passes: ", " %)", "\nlower    --limit: ", "smallest limit ",
                           "--dtype bf16: ", "--scratch DIR: ", " there", "\nplan     optimal, exact"})
    CHECK_THAT(text, Catch::Contains(part));
  CHECK(text.find("decoder.") == std::string::npos);
  const nlohmann::json document = to_json(lower);
  CHECK(document["remedies"][0]["change"] == "--limit");
  CHECK(document["remedies"][0]["about_as_fast"]["limit_bytes"] ==
        lower.remedies[0].about_as_fast->peak_bytes);
  CHECK(document["not_looked_at"].empty());
}

}  // namespace
}  // namespace headroom::planner
