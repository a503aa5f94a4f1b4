// Recorded events of a decode on a GPU, joined again by headroom-profile --replay.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "decoder/graph/json_fields.h"
#include "decoder/trace/trace_file.h"
#include "planner/program/run.h"
#include "profiler/program/run.h"
#include "tests/support/gpu.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

const std::string kFolder = HEADROOM_TEST_DATA "/device_events/";
const Words kProgram{"--plan", kFolder + "plan.json", "--model", HEADROOM_TEST_DATA "/demo_model"};

TEST_CASE("recorded events give the expected trace, however they arrive") {
  const std::string name = GENERATE("interleaved", "out_of_order", "wrapped", "lost");
  CAPTURE(name);
  const Scratch scratch;
  const Ended ended = call(
      run_profile, joined(kProgram, {"--replay", kFolder + name + ".jsonl", "-o", scratch / "trace.json",
                                     "--csv", scratch / "events.csv", "--chrome", scratch / "chrome.json"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const bool lost = name == "lost";
  CHECK(test::read_bytes(scratch / "events.csv") ==
        test::read_bytes(kFolder + (lost ? "expected_lost.csv" : "expected.csv")));
  CHECK((ended.err.find("records were lost") != std::string::npos) == lost);
  const RecordedTrace recorded = read_trace(scratch / "trace.json");
  CHECK(recorded.trace.by_device_clock);
  CHECK(recorded.trace.device == "a GPU");
  CHECK((recorded.trace.records_lost > 0) == lost);
  CHECK((recorded.trace.activities_of_no_step > 0) == lost);
  REQUIRE_FALSE(recorded.trace.activities.empty());
  const json chrome = read_json_file(scratch / "chrome.json", 1 << 26);
  std::set<int> streams;
  for (const json& event : chrome["traceEvents"]) {
    if (event["ph"] == "X" && event["pid"] == 2) streams.insert(event["tid"].get<int>());
  }
  CHECK(streams == std::set<int>{7, 13, 14});
}

TEST_CASE("files of recorded events all come or none does") {
  const Scratch scratch;
  const std::string events = kFolder + "wrapped.jsonl", out = scratch / "trace.json";
  const auto replay = [&](const Words& more) { return call(run_profile, joined(kProgram, more)); };
  require_refused(replay({"--replay", scratch / "none.jsonl", "-o", out}), 2, {"none.jsonl"});
  scratch.write("cut.jsonl", test::read_bytes(events).substr(0, 5000));
  require_refused(replay({"--replay", scratch / "cut.jsonl", "-o", out}), 2, {"cut.jsonl: line "});
  scratch.write("other.jsonl", test::read_bytes(events) + "[\"scope\",1,1,0,24,0,0]\n");
  require_refused(replay({"--replay", scratch / "other.jsonl", "-o", out}), 2,
                  {"other.jsonl: event ", "the plan has no step 0 in a pass 24"});
  require_refused(replay({"--replay", events, "--events", scratch / "again.jsonl", "-o", out}), 2,
                  {"--replay decodes nothing"});
  const std::string file_above = (scratch / "cut.jsonl/trace.json").string();
  require_refused(replay({"--replay", events, "-o", file_above}), 2, {"its folder cannot be made"});
  require_refused(replay({"--replay", events, "-o", out, "--csv", out}), 2, {"expected a file of its own"});
  require_refused(replay({"--replay", events, "--json", "-o", out}), 2, {"--replay decodes nothing"});
  require_refused(replay({"--watch", "", "-o", out}), 2, {"--watch: expected all, none or a list"});
  require_refused(replay({"--replay", events}), 2, {"--plan needs --output"});
  require_refused(replay({"--watch", "kernels,dances", "-o", out}), 2,
                  {"--watch: expected all, none or some of allocator, kernels", "found 'dances'"});
  require_refused(replay({"--device", "cpu", "-o", out}), 2, {"--device: ", "is a plan for cuda, found cpu"});
  require_refused(call(run_profile, {"--model", "sdxl", "--sizes", "8x8", "--replay", events, "-o", out}), 2,
                  {"go with --plan"});
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("a recording on the CPU can be joined again") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config(), 1);
  const std::string plan = scratch / "plan.json", events = scratch / "events.jsonl";
  REQUIRE(
      call(planner::run_plan, {"--model", model, "--size", "24x20", "--limit", "64MiB", "-o", plan}).code ==
      0);
  const Words program{"--plan", plan, "--model", model, "--threads", "2"};
  const Ended ended = call(run_profile, joined(program, {"-o", scratch / "trace.json", "--events", events}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  REQUIRE(call(run_profile, joined(program, {"--replay", events, "-o", scratch / "again.json"})).code == 0);
  CHECK(test::read_bytes(scratch / "again.json") == test::read_bytes(scratch / "trace.json"));
  CHECK(read_json_file(scratch / "trace.json", 1 << 26)["version"] == 3);
}

TEST_CASE("without a GPU recording on one ends with 5 and one line") {
  std::string why;
  if (test::gpu_if_any(why) != nullptr) return;
  const Scratch scratch;
  const std::string out = scratch / "trace.json";
  require_refused(call(run_profile, joined(kProgram, {"-o", out})), 5, {"headroom-profile: ", "CUDA"});
  CHECK_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace headroom::profiler
