#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "decoder/base/json_fields.h"
#include "planner/program/run.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

/// A folder with a config, and a ranked plan for it.
struct RanksAsked {
  Scratch scratch;
  std::string file = scratch / "plan.json";
  Words words{"--model", scratch.folder().string(), "--size", "48x56", "-o", file};

  RanksAsked() { scratch.write("config.json", test::tiny_config().dump()); }
  Ended plan(const Words& more) const { return call(run_plan, joined(words, more)); }
  json document() const { return read_json_file(file, 1 << 26); }
};

TEST_CASE("ranks: planned, printed as a table and as JSON, and validated") {
  const RanksAsked asked;
  const Ended planned = asked.plan({"--ranks", "3", "--limit", "64MiB"});
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  CHECK_THAT(planned.out, Catch::Contains("3 ranks, ") && Catch::Contains("latent rows"));
  const json document = asked.document();
  CHECK(document["version"] == 6);
  CHECK(document["ranks"].size() == 3);
  CHECK(document["link"] == json({{"bytes_per_second", 1.25e9}, {"seconds", 1e-4}}));
  CHECK(call(run_plan, {"validate", asked.file}).out == asked.file + ": valid\n");

  const Ended printed =
      asked.plan({"--ranks", "3", "--limit", "64MiB", "--link", "2GB,3e-6", "--json", "--device", "cuda"});
  REQUIRE(printed.code == 0);
  CHECK(json::parse(printed.out) == asked.document());
  CHECK(json::parse(printed.out)["link"] == json({{"bytes_per_second", 2e9}, {"seconds", 3e-6}}));
  CHECK(call(run_plan, {"validate", asked.file}).code == 0);

  json changed = document;
  changed["transfers"].erase(changed["transfers"].begin());
  asked.scratch.write("plan.json", changed.dump());
  require_refused(call(run_plan, {"validate", asked.file}), 2, {"plan.json: "});
}

TEST_CASE("ranks: a limit for each, and the smallest of each where nothing fits") {
  const RanksAsked asked;
  const Ended refused = asked.plan({"--ranks", "2", "--limit", "1KiB"});
  require_refused(refused, 3, {"by 2 ranks does not fit", "the smallest limit for each rank that works"});
  std::smatch found;
  REQUIRE(std::regex_search(refused.err, found, std::regex("\\(([0-9]+) bytes\\)")));
  const std::string smallest = found[1];
  const Ended as_json = asked.plan({"--ranks", "2", "--limit", "1KiB", "--json"});
  CHECK(json::parse(as_json.out) == json({{"fits", false},
                                          {"limits_bytes", {1024, 1024}},
                                          {"smallest_limit_bytes", std::stoll(smallest)}}));
  CHECK_FALSE(std::filesystem::exists(asked.file));
  REQUIRE(asked.plan({"--ranks", "2", "--rank-limit", smallest + ",64MiB"}).code == 0);
  const json document = asked.document();
  CHECK(document["ranks"][0]["plan"]["limit_bytes"] == std::stoll(smallest));
  CHECK(document["ranks"][1]["plan"]["limit_bytes"] == 64 << 20);
  REQUIRE(asked.plan({"--ranks", "2", "--rank-limit", "64MiB"}).code == 0);
  CHECK(asked.document()["ranks"][0]["plan"]["limit_bytes"] == 64 << 20);
}

TEST_CASE("ranks: numbers of them are compared") {
  const RanksAsked asked;
  const Words frontier{"frontier", "--model", asked.words[1], "--size", "48x56", "--ranks", "1,2,4"};
  const Ended table = call(run_plan, frontier);
  CHECK(table.code == 0);
  CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 4);
  const json list = json::parse(call(run_plan, joined(frontier, {"--json"})).out);
  REQUIRE(list.size() == 3);
  CHECK(list[2]["ranks"] == 4);
  CHECK(list[0]["sent_bytes"] == 0);
  for (const json& entry : list) CHECK(entry["smallest_limit_bytes"] <= entry["peak_bytes"]);
  CHECK(list[2]["peak_bytes"] < list[0]["peak_bytes"]);
  require_refused(call(run_plan, joined(frontier, {"--csv", asked.scratch / "f.csv"})), 2, {"--ranks: "});
}

TEST_CASE("ranks: what does not go together is refused in one line") {
  const RanksAsked asked;
  const auto refused = [&](const Words& words, const std::string& part) {
    CAPTURE(words);
    require_refused(asked.plan(words), 2, {part});
  };
  refused({}, "--limit is required");
  refused({"--limit", "1GiB", "--link", "1GB,0"}, "--link: goes with --ranks");
  refused({"--rank-limit", "1GiB"}, "--rank-limit: goes with --ranks");
  refused({"--ranks", "2", "--limit", "1GiB", "--rank-limit", "1GiB"}, "--rank-limit: expected no --limit");
  refused({"--ranks", "3", "--rank-limit", "1GiB,2GiB"},
          "--rank-limit: expected one for all or one for each");
  refused({"--ranks", "2", "--rank-limit", "1GiB,"}, "--rank-limit: expected bytes");
  refused({"--ranks", "2", "--limit", "1GiB", "--host-limit", "1GiB"}, "--host-limit: not with --ranks");
  refused({"--ranks", "2", "--limit", "1GiB", "--scratch", "/"}, "--scratch: not with --ranks");
  for (const char* ranks : {"0", "-1", "two", "2.5", "1025", "2,", "99999999999999999999"})
    refused({"--ranks", ranks, "--limit", "1GiB"}, "--ranks: expected");
  refused({"--ranks", "2,3", "--limit", "1GiB"}, "--ranks: expected one number");
  for (const char* link : {"1GB", "1GB,", "0,1", "1GB,-1", "1GB,1,1", "1GB,nan", "fast,1", "1GB,1s"})
    refused({"--ranks", "2", "--limit", "1GiB", "--link", link}, "--link: expected");
  CHECK_FALSE(std::filesystem::exists(asked.file));
}

TEST_CASE("ranks: each one's part of a plan is explained") {
  RanksAsked asked;
  REQUIRE(asked.plan({"--ranks", "30", "--limit", "64MiB"}).code == 0);
  const auto explained = [&](const Words& words) {
    return call(run_plan, joined({"explain", asked.file}, words));
  };
  std::set<std::string> texts;
  for (const char* rank : {"0", "3", "29"}) {  // the last rank has no rows
    const Ended shown = explained({"--rank", rank});
    CAPTURE(rank, shown.err);
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out, Catch::Contains("conv"));
    texts.insert(shown.out);
    const json document = json::parse(explained({"--rank", rank, "--json"}).out);
    CHECK(document.is_object());
  }
  CHECK(texts.size() == 3);
  CHECK_THAT(explained({"--rank", "0", "--schedule"}).out,
             Catch::Contains("; rank 0 of 30\n") && Catch::Contains("waits for rank 1: ") &&
                 Catch::Contains("sends to rank 1: ") && Catch::Contains("(merged with all ranks)"));
  CHECK_THAT(explained({"--rank", "29", "--schedule"}).out, Catch::Contains("none: this rank has no rows"));
  require_refused(explained({"--schedule"}), 2, {"is for several ranks; --rank picks one"});
  require_refused(explained({"--rank", "30"}), 2, {"--rank: ", "is for 30 ranks, found 30"});
  require_refused(explained({"--rank", "-1"}), 2, {"--rank"});
  require_refused(explained({"--rank", "1", "--analyze", "stats.json"}), 2,
                  {"--analyze: goes with --rank 0"});
  REQUIRE(asked.plan({"--limit", "64MiB"}).code == 0);
  require_refused(explained({"--rank", "0"}), 2, {"--rank: ", "is a plan of one decode"});
}

TEST_CASE("ranks: what takes a plan of one decode refuses theirs") {
  const RanksAsked asked;
  REQUIRE(asked.plan({"--ranks", "2", "--limit", "64MiB"}).code == 0);
  require_refused(call(run_plan, {"explain", asked.file}), 2,
                  {"plan.json: ranks: expected a plan of one decode, found plans of several ranks"});
  require_refused(call(run_plan, {"diff", asked.file, asked.file}), 2, {"ranks: expected a plan of one"});
}

}  // namespace
}  // namespace headroom::planner
