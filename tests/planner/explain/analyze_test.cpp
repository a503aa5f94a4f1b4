#include "planner/explain/analyze.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/base/short_name.h"
#include "decoder/plan/stats_file.h"
#include "planner/program/run.h"
#include "planner/search/problem.h"
#include "tests/decoder/files/scratch.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/expected.h"
#include "tests/support/program.h"
#include "tests/support/run_as_predicted.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using nlohmann::json;
using test::call;
using test::require_refused;
using test::run_as_predicted;

TEST_CASE("analyze: the pass furthest off in seconds comes first, and the pass of the peak is marked") {
  const Graph graph = testing::small_graph();
  Plan plan = testing::small_plan(graph);
  plan.passes[0].predicted_seconds = 0;  // predicted as 0 seconds and measured as 0
  RunStats stats = run_as_predicted(plan);
  stats.passes[1].seconds = 0.09;  // 10 % less
  stats.passes[2].seconds = 0.25;  // 150 % more
  stats.passes[0].peak_bytes = 9'000;
  stats.passes[1].peak_bytes = 25'000;
  stats.passes[2].peak_bytes = 16'000;
  stats.peak_bytes = 25'100;
  stats.outside_bytes = 100;
  stats.seconds = 0.6;
  const Analysis analysis = analyze(plan, "plan.json", stats, "stats.json");
  REQUIRE(analysis.passes.size() == 3);
  CHECK(analysis.passes[0].pass == 2);
  CHECK(analysis.passes[1].pass == 1);
  CHECK(analysis.passes[2].pass == 0);
  test::check_expected("analysis.txt", to_text(analysis));

  const json document = to_json(analysis);
  CHECK(document["passes"][0]["seconds"]["ratio"].get<double>() == Approx(2.5));
  CHECK(document["passes"][2]["seconds"]["ratio"].is_null());
  CHECK(document["passes"][1]["decided_peak"] == true);
  CHECK(document["seconds"]["measured"] == 0.6);

  // Passes are sorted by seconds, not by ratio. A microsecond does not matter, even if none was predicted.
  stats.passes[0].seconds = 1e-6;
  CHECK(analyze(plan, "plan.json", stats, "stats.json").passes[0].pass == 2);
  CHECK(worst_passes(stats.passes) == std::vector<size_t>{2, 1, 0});
}

TEST_CASE("passes are ranked by seconds: the longest of a plan, of equal ones the first") {
  const Graph graph = testing::small_graph();
  Plan plan = testing::small_plan(graph);
  plan.passes[0].predicted_seconds = 1;
  plan.passes[1].predicted_seconds = 3;
  plan.passes[2].predicted_seconds = 3;
  CHECK(longest_passes(plan) == std::vector<size_t>{1, 2, 0});
}

TEST_CASE("analyze: another machine than the profile's is named") {
  const Graph graph = testing::small_graph();
  Plan plan = testing::small_plan(graph);
  plan.assumed = false;
  plan.environment = {"two cores", "LibTorch"};
  const RunStats stats = run_as_predicted(plan);
  CHECK_THAT(to_text(analyze(plan, "p", stats, "s")), !Catch::Contains("planned for"));
  plan.environment.device = "sixty-four cores";
  CHECK_THAT(to_text(analyze(plan, "p", stats, "s")),
             Catch::Contains("planned for sixty-four cores; LibTorch"));
}

TEST_CASE("analyze: statistics of another plan are refused by what differs") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  CHECK(belongs_to(plan, run_as_predicted(plan)));
  const auto refuses = [&](const RunStats& stats, const std::string& start) {
    CHECK_FALSE(belongs_to(plan, stats));
    CHECK_THROWS_WITH(analyze(plan, "plan.json", stats, "stats.json"), Catch::StartsWith(start));
    CHECK_THROWS_AS(analyze(plan, "plan.json", stats, "stats.json"), InputError);
  };
  RunStats stats = run_as_predicted(plan);
  stats.limit_bytes += 1;
  refuses(stats, "stats.json: limit_bytes: expected 28000 as in plan.json, found 28001");
  stats = run_as_predicted(plan);
  stats.passes.pop_back();
  refuses(stats, "stats.json: passes: expected 3 passes as in plan.json, found 2");
  stats = run_as_predicted(plan);
  stats.passes[1].name = "else\nwhere";
  refuses(stats, "stats.json: passes[1].name: expected \"residual\" as in plan.json, found \"else\\nwhere\"");
  stats = run_as_predicted(plan);
  stats.predicted_peak_bytes -= 1;
  refuses(stats, "stats.json: predicted_peak_bytes: expected 26000 as in plan.json, found 25999");
}

TEST_CASE("explain --analyze and --json") {
  const test::Scratch scratch;
  scratch.write("config.json", test::tiny_config().dump());
  const std::string model = scratch.folder().string(), file = scratch / "plan.json",
                    stats_file = scratch / "stats.json";
  REQUIRE(call(run_plan, {"--model", model, "--size", "48x40", "--limit", "64MiB", "-o", file}).code == 0);
  const json document = read_json_file(file, 1 << 26);
  RunStats stats;
  stats.limit_bytes = document["limit_bytes"];
  stats.predicted_peak_bytes = document["predicted"]["peak_bytes"];
  for (const json& pass : document["passes"]) {
    stats.passes.push_back(
        {pass["name"], pass["predicted"]["peak_bytes"], 1000, pass["predicted"]["seconds"], 0.5});
  }
  write_stats(stats_file, stats);
  const test::Ended table = call(run_plan, {"explain", file, "--analyze", stats_file});
  INFO(table.err);
  CHECK(table.code == 0);
  for (const json& pass : document["passes"])
    CHECK_THAT(table.out, Catch::Contains(short_name(pass["name"].get<std::string>())));
  const json analysed = json::parse(call(run_plan, {"explain", file, "--analyze", stats_file, "--json"}).out);
  CHECK(analysed["passes"].size() == document["passes"].size());
  CHECK(analysed["passes"][0]["seconds"]["measured"] == 0.5);
  const json explained = json::parse(call(run_plan, {"explain", file, "--json"}).out);
  CHECK(explained["passes"].size() == document["passes"].size());
  CHECK(explained["gap"] <= kDefaultThrift);

  stats.passes.pop_back();
  write_stats(stats_file, stats);
  require_refused(call(run_plan, {"explain", file, "--analyze", stats_file}), 2,
                  {"stats.json: passes: expected"});
  require_refused(call(run_plan, {"explain", file, "--analyze", file}), 2, {"plan.json: schema"});
  require_refused(call(run_plan, {"explain", file, "--analyze", scratch / "none.json"}), 2, {"none.json"});
  // The command `explain` reads steps and tiles, so both must be valid.
  json broken = document;
  broken["passes"][0]["tiles"]["y"] = json::array();
  require_refused(call(run_plan, {"explain", scratch.write("broken.json", broken.dump()).string()}), 2,
                  {"broken.json: passes[0].tiles.y"});
}

}  // namespace
}  // namespace headroom::planner
