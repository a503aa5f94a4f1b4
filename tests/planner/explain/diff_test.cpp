#include "planner/explain/diff.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/json_fields.h"
#include "planner/program/run.h"
#include "tests/decoder/files/scratch.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/program.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using nlohmann::json;
using test::call;
using test::require_refused;

const Difference* find(const std::vector<Difference>& values, const std::string& key) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const Difference& d) { return d.key == key; });
  return found == values.end() ? nullptr : &*found;
}

TEST_CASE("diff: a plan does not differ from itself") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Model model = test::model_of(test::random_config(random));
    const Extent latent{1, random.integer(1, 12), random.integer(1, 12)};
    const Plan plan = test::random_plan(model, test::request_for(model, latent), 1, {}, {}, random).plan;
    const PlanDiff diff = diff_plans(plan, model.graph, plan, model.graph);
    CHECK(diff.empty());
    CHECK(diff.same_kept == plan.kept.size());
    CHECK(diff.same_passes == plan.passes.size());
    CHECK(to_text(diff) == "no difference\n");
    CHECK(to_json(diff)["equal"] == true);
  }
}

TEST_CASE("diff: every value that changes is listed, and nothing else") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan_below(graph);
  struct Case {
    std::string key;
    std::function<void(Plan&)> change;
  };
  const std::vector<Case> whole{
      {"request.model", [](Plan& p) { p.request.model = "else"; }},
      {"request.width_pixels", [](Plan& p) { p.request.width_pixels = 8; }},
      {"request.height_pixels", [](Plan& p) { p.request.height_pixels = 8; }},
      {"request.frames", [](Plan& p) { p.request.frames = 8; }},
      {"request.batch", [](Plan& p) { p.request.batch = 8; }},
      {"request.dtype", [](Plan& p) { p.request.dtype = Dtype::fp16; }},
      {"request.device", [](Plan& p) { p.request.device = DeviceKind::cuda; }},
      {"limit_bytes", [](Plan& p) { p.limit_bytes *= 2; }},
      {"micro_batch", [](Plan& p) { p.micro_batch = 1; }},
      {"weights", [](Plan& p) { p.weights = WeightResidency::per_pass; }},
      {"weights_bytes", [](Plan& p) { p.weights_bytes += 1; }},
      {"reserve_bytes", [](Plan& p) { p.reserve_bytes += 1; }},
      {"host_limit_bytes", [](Plan& p) { p.host_limit_bytes += 1; }},
      {"host_weights_bytes", [](Plan& p) { p.host_weights_bytes += 1; }},
      {"scratch.limit_bytes", [](Plan& p) { p.scratch_limit_bytes += 1; }},
      {"scratch.folder", [](Plan& p) { p.scratch_folder += "x"; }},
      {"predicted.peak_bytes", [](Plan& p) { p.predicted_peak_bytes += 1; }},
      {"predicted.seconds", [](Plan& p) { p.predicted_seconds += 1; }},
      {"bound_seconds", [](Plan& p) { p.bound_seconds += 1; }},
      {"optimal", [](Plan& p) { p.optimal = true; }},
      {"exact", [](Plan& p) { p.exact = false; }},
      {"assumed", [](Plan& p) { p.assumed = false; }},
      {"environment.device", [](Plan& p) { p.environment.device = "x"; }},
      {"environment.libraries", [](Plan& p) { p.environment.libraries = "x"; }},
      {"engines",
       [](Plan& p) {
         p.engines = {{"problem", "fast", 1, "first", 2}};
       }},
  };
  for (const Case& c : whole) {
    CAPTURE(c.key);
    Plan other = plan;
    c.change(other);
    const PlanDiff diff = diff_plans(plan, graph, other, graph);
    REQUIRE(diff.whole.size() == 1);
    CHECK(diff.whole[0].key == c.key);
    CHECK(diff.kept.empty());
    CHECK(diff.passes.empty());
    CHECK(to_json(diff)["whole"][0]["key"] == c.key);
  }
  const std::vector<Case> kept{
      {"tier", [](Plan& p) { p.kept[1].tier = MemoryTier::host; }},
      {"first_pass", [](Plan& p) { p.kept[1].first_pass = 0; }},
      {"last_pass", [](Plan& p) { p.kept[1].last_pass = 1; }},
      {"in_place_of", [](Plan& p) { p.kept[1].in_place_of = p.kept[0].tensor; }},
      {"block_rows", [](Plan& p) { p.kept[1].block_rows = 3; }},
  };
  for (const Case& c : kept) {
    CAPTURE(c.key);
    Plan other = plan;
    c.change(other);
    const PlanDiff diff = diff_plans(plan, graph, other, graph);
    CHECK(diff.whole.empty());
    CHECK(diff.passes.empty());
    REQUIRE(diff.kept.size() == 1);
    CHECK(diff.kept[0].name == "residual");
    CHECK(diff.kept[0].side == PartDifference::both);
    REQUIRE(diff.kept[0].values.size() == 1);
    CHECK(diff.kept[0].values[0].key == c.key);
    CHECK(diff.same_kept == 1);
  }
  const std::vector<Case> passes{
      {"predicted.peak_bytes", [](Plan& p) { p.passes[1].predicted_peak_bytes += 1; }},
      {"predicted.seconds", [](Plan& p) { p.passes[1].predicted_seconds += 1; }},
      {"predicted.flops", [](Plan& p) { p.passes[1].predicted_flops += 1; }},
      {"scale", [](Plan& p) { p.passes[1].scale.y = 2; }},
      {"direct_convolutions", [](Plan& p) { p.passes[1].convolutions.direct = {p.passes[1].steps[1].op}; }},
      {"tiles",
       [](Plan& p) {
         p.passes[1].tiles.y = {{0, 8}};
       }},
      {"tiles",
       [](Plan& p) {
         p.passes[1].tiles.y = {{0, 3}, {3, 7}, {7, 8}};
       }},
      {"tiles", [](Plan& p) { p.passes[1].carries_rows = true; }},
      {"steps", [](Plan& p) { p.passes[1].steps.pop_back(); }},
      {"steps", [](Plan& p) { p.passes[1].steps[0].halo = {}; }},
      {"steps", [](Plan& p) { p.passes[1].steps[0].halo.before.t = 1; }},
      {"steps", [](Plan& p) { p.passes[1].steps[0].pad = {}; }},
      {"steps", [](Plan& p) { p.passes[1].steps[0].edges = Edges::replicate; }},
      {"steps", [](Plan& p) { p.passes[1].steps[3].inputs[0].step = 1; }},
      {"steps", [](Plan& p) { std::swap(p.passes[1].steps[2], p.passes[1].steps[3]); }},
  };
  for (size_t i = 0; i < passes.size(); ++i) {
    CAPTURE(i, passes[i].key);
    Plan other = plan;
    passes[i].change(other);
    const PlanDiff diff = diff_plans(plan, graph, other, graph);
    CHECK(diff.whole.empty());
    CHECK(diff.kept.empty());
    REQUIRE(diff.passes.size() == 1);
    CHECK(diff.passes[0].pass == 1);
    CHECK(diff.passes[0].name == "residual");
    REQUIRE(diff.passes[0].values.size() == 1);
    CHECK(diff.passes[0].values[0].key == passes[i].key);
    CHECK(diff.same_passes == 2);
  }
}

TEST_CASE("diff: tensors and passes that only one plan has") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  Plan other = plan;
  other.kept.erase(other.kept.begin());
  other.passes[2].name = "elsewhere";
  other.passes.push_back(plan.passes[2]);
  const PlanDiff diff = diff_plans(plan, graph, other, graph);
  REQUIRE(diff.kept.size() == 1);
  CHECK(diff.kept[0].name == "conv_in");
  CHECK(diff.kept[0].side == PartDifference::only_a);
  CHECK(find(diff.kept[0].values, "tier")->a == "device");
  CHECK(find(diff.kept[0].values, "tier")->b.is_null());
  REQUIRE(diff.passes.size() == 3);  // passes match by number and name
  CHECK((diff.passes[0].pass == 2 && diff.passes[0].side == PartDifference::only_a));
  CHECK((diff.passes[1].pass == 2 && diff.passes[1].side == PartDifference::only_b));
  CHECK((diff.passes[2].pass == 3 && diff.passes[2].side == PartDifference::only_b));
  const PlanDiff back = diff_plans(other, graph, plan, graph);
  CHECK(back.kept[0].side == PartDifference::only_b);
  CHECK_THAT(to_text(back), Catch::Contains("kept conv_in  only in B: tier device"));
  CHECK(to_json(back)["kept"][0]["in"] == "b");
}

TEST_CASE("diff: bytes and seconds come with their ratio") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  Plan other = plan;
  other.predicted_peak_bytes *= 3;
  other.predicted_seconds /= 2;
  other.passes[0].predicted_peak_bytes *= 2;
  const PlanDiff diff = diff_plans(plan, graph, other, graph);
  const json document = to_json(diff);
  CHECK(document["whole"][0]["ratio"] == 3);
  CHECK(document["whole"][1]["ratio"] == 0.5);
  CHECK(document["passes"][0]["values"][0]["ratio"] == 2);
  CHECK_THAT(to_text(diff), Catch::Contains("predicted peak  25.4 KiB -> 76.2 KiB  (3 times)") &&
                                Catch::Contains("predicted time  300.0 ms -> 150.0 ms  (0.5 times)"));
}

TEST_CASE("diff: when weights are on the device is told in words") {
  CHECK(value_text("weights", "per_pass") == "per pass");
  CHECK(value_text("weights", "resident") == "throughout");
  CHECK(value_text("request.model", "resident") == "resident");
}

TEST_CASE("headroom-plan diff") {
  const test::Scratch scratch;
  scratch.write("config.json", test::tiny_config().dump());
  const std::string model = scratch.folder().string(), a = scratch / "a.json", b = scratch / "b.json";
  REQUIRE(call(run_plan, {"--model", model, "--size", "48x40", "--limit", "64MiB", "-o", a}).code == 0);
  REQUIRE(call(run_plan, {"--model", model, "--size", "48x80", "--limit", "32MiB", "-o", b}).code == 0);
  const test::Ended same = call(run_plan, {"diff", a, a});
  CHECK(same.code == 0);
  CHECK(same.out == "no difference\n");
  const test::Ended differs = call(run_plan, {"diff", a, b});
  CHECK(differs.code == 0);
  CHECK_THAT(differs.out, Catch::StartsWith("A " + a + " -> B " + b + "\npredicted peak") &&
                              Catch::Contains("limit  64.0 MiB -> 32.0 MiB  (0.5 times)") &&
                              Catch::Contains("request height  40 -> 80"));
  const test::Ended as_json = call(run_plan, {"diff", a, b, "--json"});
  CHECK(as_json.code == 0);
  CHECK(json::parse(as_json.out)["equal"] == false);
  // Plans of different models, given by name.
  REQUIRE(call(run_plan, {"--model", "sd15", "--size", "64x64", "--limit", "4GiB", "-o", b}).code == 0);
  CHECK(call(run_plan, {"diff", a, b}).code == 0);

  require_refused(call(run_plan, {"diff", a}), 2, {"diff takes two plans", "A.json B.json"});
  require_refused(call(run_plan, {"diff", a, scratch / "none.json"}), 2, {"none.json: no such file"});
  // Comparison accepts invalid plans without crashing.
  json broken = read_json_file(a, 1 << 26);
  broken["passes"][0]["tiles"]["y"] = json::array();
  broken["passes"][1]["steps"] = json::array();
  broken["kept"].push_back(broken["kept"][0]);
  const std::string odd = scratch.write("odd.json", broken.dump()).string();
  const test::Ended ended = call(run_plan, {"diff", a, odd});
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("only in B") && Catch::Contains("0 tiles"));
}

}  // namespace
}  // namespace headroom::planner
