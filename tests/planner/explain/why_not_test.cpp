#include "planner/explain/why_not.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "decoder/base/short_name.h"
#include "decoder/families/load_model.h"
#include "decoder/schedule/storage.h"
#include "planner/search/make_plan.h"
#include "tests/support/exact_costs.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"

namespace headroom::planner {
namespace {

using test::Random;

int64_t sum_of(const WhyNot& why) {
  int64_t sum = 0;
  for (const LiveEntry& blocker : why.blockers) sum += blocker.bytes;
  return sum;
}

TEST_CASE("what stands in the way adds up to the smallest limit, each thing once") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{60}, test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const Model model = test::random_model(random, {.operations = 30, .barriers = random.integer(2, 10)});
  const Extent latent{1, random.integer(4, 40), random.integer(4, 40)};
  Request request = test::request_for(model, latent);
  if (seed >= 45) request.device = DeviceKind::cuda;
  if (seed % 2 == 1) request.picture_dtype = seed % 3 == 0 ? Dtype::bf16 : Dtype::fp32;
  const CostModel costs = test::exact_costs(model.graph, request.device);
  const WhyNot why = why_not({model, request, {.limit_bytes = 1}, costs});
  CHECK(sum_of(why) == why.smallest_limit_bytes);
  std::set<std::string> kept;
  for (const LiveEntry& blocker : why.blockers) {
    if (blocker.kind == MemoryKind::kept) CHECK(kept.insert(blocker.name).second);
  }
  CHECK(make_plan({model, request, {.limit_bytes = why.smallest_limit_bytes}, costs}));
  try {
    const Plan plan = plan_or_explain({model, request, {.limit_bytes = why.smallest_limit_bytes - 1}, costs});
    // On CUDA, another plan may have smaller gaps and still fit.
    if (request.device == DeviceKind::cpu) FAIL("fits below the smallest limit");
    CHECK(plan.predicted_peak_bytes < why.smallest_limit_bytes);
  } catch (const NothingFits& refused) {
    CHECK(refused.smallest_limit_bytes == why.smallest_limit_bytes);
    CHECK(refused.why.blockers.size() == why.blockers.size());
    CHECK_THAT(refused.what(), Catch::Contains(short_name(why.pass_name)));
    CHECK_THAT(refused.what(), Catch::Contains(std::to_string(why.smallest_limit_bytes) + " bytes"));
  }
}

TEST_CASE("a picture that stays in memory is part of every figure, and named") {
  const Model model = resolve_model("taesd");
  Request request{"taesd", 512, 384, 1, 2, Dtype::fp32};
  const CostModel costs(model.graph, request.device);
  const WhyNot written = why_not({model, request, {.limit_bytes = 1}, costs});
  request.picture_dtype = Dtype::fp32;
  const int64_t picture = int64_t{2} * 3 * 512 * 384 * 4;
  const WhyNot held = why_not({model, request, {.limit_bytes = 1}, costs});
  CHECK(written.picture_bytes == 0);
  CHECK(held.picture_bytes == picture);
  CHECK(held.smallest_limit_bytes == written.smallest_limit_bytes + picture);
  CHECK(sum_of(held) == held.smallest_limit_bytes);
  CHECK_THAT(to_text(held, request),
             Catch::Contains(", of which 4.5 MiB are the 2 pictures that are returned"));
  CHECK_THAT(to_text(written, request), !Catch::Contains("of which"));
  // A 16-bit decoder's picture is in 16 bits, too.
  const auto in_bf16 = [](const WhyNot& why) {
    const auto found = std::find_if(why.remedies.begin(), why.remedies.end(),
                                    [](const Remedy& remedy) { return remedy.option == "--dtype bf16"; });
    return found->smallest_limit_bytes.value();
  };
  CHECK(in_bf16(held) == in_bf16(written) + picture / 2);
}

TEST_CASE("on CUDA host memory is what helps, never a scratch file", "[long]") {
  const Model model = resolve_model("sdxl");
  const Request request{"sdxl", 1024, 1024, 1, 1, Dtype::fp32, DeviceKind::cuda};
  const CostModel costs(model.graph, request.device);
  const WhyNot why = why_not({model, request, {.limit_bytes = 1}, costs});
  std::set<std::string> options;
  for (const Remedy& remedy : why.remedies) options.insert(remedy.option);
  CHECK(options == std::set<std::string>{"--host-limit", "--dtype bf16"});  // no fp16: force_upcast
  const auto listed = [&](const std::string& name) {
    return std::any_of(why.blockers.begin(), why.blockers.end(),
                       [&](const LiveEntry& blocker) { return blocker.name == name; });
  };
  CHECK(listed("statistics"));
  CHECK_THAT(to_text(why, request), Catch::Contains("--host-limit") && !Catch::Contains("--scratch"));
}

TEST_CASE("remedies for which there was no time are named, and what does not fit is said all the same") {
  const Model model = resolve_model("taesd");
  const Request request{"taesd", 256, 256, 1, 1, Dtype::fp32, DeviceKind::cuda};
  const CostModel costs = test::exact_costs(model.graph);
  const Problem problem{model, request, {.limit_bytes = 1}, costs};
  const WhyNot whole = why_not(problem);
  CHECK(whole.not_looked_at.empty());
  CHECK_FALSE(whole.remedies.empty());
  CHECK_FALSE(to_json(whole).contains("not_looked_at"));

  const WhyNot hurried = why_not(problem, 0);
  CHECK(hurried.smallest_limit_bytes == whole.smallest_limit_bytes);
  CHECK(hurried.blockers.size() == whole.blockers.size());
  CHECK(hurried.remedies.empty());
  CHECK(hurried.not_looked_at == std::vector<std::string>{"--dtype bf16", "--dtype fp16", "--host-limit"});
  CHECK(to_json(hurried)["not_looked_at"].size() == 3);
  CHECK_THAT(to_text(hurried, request),
             Catch::Contains("no time to look at --dtype bf16, --dtype fp16, --host-limit"));
}

}  // namespace
}  // namespace headroom::planner
