// Traces of a GPU: what their files have beside what every trace has, and their exports.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "decoder/trace/exports.h"
#include "decoder/trace/trace_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr auto kTile = MemoryKind::tile;
constexpr TensorId kNone{-1};

/// 10,000 bytes are reserved, of which tiles take some for a while; libraries take 512 more meanwhile.
Trace gpu_sample_trace() {
  Trace trace;
  trace.model = "a model";
  trace.device = "a GPU, driver 1.2";
  trace.libraries = "LibTorch 2.11.0";
  trace.limit_bytes = 28'000;
  trace.request = Request{"a model", 128, 64, 1, 3, Dtype::bf16, DeviceKind::cuda};
  trace.seconds = 0.5;
  trace.events = {{0, 300, -1, -1, kNone, MemoryKind::context},
                  {0, 10'000, -1, -1, kNone, MemoryKind::slack},
                  {0.000125, 4096, 0, 0, TensorId{1}, kTile, -4096},
                  {0.25, 512, 0, 0, kNone, MemoryKind::libraries},
                  {0.3, -4096, 0, 0, TensorId{1}, kTile, 4096}};
  trace.passes = {{0.125, 0.25, 0, 0}, {0.25, 0.28125, 0, 1}};
  trace.step_sums = {{0, 1, 3, 0.1, 0.0625}, {1, 2, 3, 0.2, 0}};
  trace.activity_names = {"multiply", "host to device"};
  trace.activities = {{0.001, 0.002, 0, 0, 0, 1, 7, 0, ActivityKind::kernel},
                      {0.0015, 0.0025, -1, 1 << 20, -1, -1, 13, 1, ActivityKind::copy},
                      {0.0015, 0.0016, -1, 64, 1, -1, 7, 0, ActivityKind::fill}};
  trace.by_device_clock = true;
  trace.activities_left_out = 3;
  trace.activities_of_no_step = 1;
  trace.records_lost = 5;
  trace.driver = {{0, 10'300}, {0.3, 10'812}};
  trace.sources = {{"allocator", true, "LibTorch 2.11.0"}, {"CUPTI memory", false, "held by \"another\""}};
  return trace;
}

struct Files {
  test::Scratch scratch;
  Graph graph = testing::small_graph();
  Plan plan = testing::small_plan(graph);

  json written() const {
    write_trace(scratch / "trace.json", gpu_sample_trace(), plan, graph);
    return read_json_file(scratch / "trace.json", 1 << 20);
  }
};

TEST_CASE("trace file: a GPU's trace comes back as it was", "[unit][trace_file]") {
  const Files files;
  CHECK(files.written()["version"] == 3);
  const Trace trace = gpu_sample_trace(), read = read_trace(files.scratch / "trace.json").trace;
  CHECK(read.events == trace.events);
  CHECK(read.step_sums == trace.step_sums);
  CHECK(read.activities == trace.activities);
  CHECK(read.activity_names == trace.activity_names);
  CHECK(read.activities_left_out == 3);
  CHECK(read.activities_of_no_step == 1);
  CHECK(read.records_lost == 5);
  CHECK(read.by_device_clock);
  CHECK(read.driver == trace.driver);
  CHECK(read.sources == trace.sources);
}

TEST_CASE("trace file: wrong values of a GPU's trace are refused by their path", "[unit][trace_file]") {
  const Files files;
  const auto refuses = [&](const std::string& pointer, const json& value, const std::string& start) {
    json document = files.written();
    document[json::json_pointer(pointer)] = value;
    CAPTURE(pointer, value.dump());
    CHECK_THROWS_WITH(trace_from_json(document.dump(), "t"), Catch::StartsWith("t: " + start));
    CHECK_THROWS_AS(trace_from_json(document.dump(), "t"), InputError);
  };
  refuses("/events/2/6", -10'001, "events[2][6]: expected an integer from -10000 to");
  refuses("/events/4/6", (int64_t{1} << 60) - 1, "events[4][6]: expected an integer from");
  refuses("/events/2/1", 8, "events[2][1]: expected an integer from 0 to 7, found 8");
  refuses("/kinds/5", "loose", "kinds: expected [\"weights\",");
  refuses("/activities/1/0", 0.0005, "activities[1][0]: expected a number of at least 0.001");
  refuses("/activities/1/1", 0.0005, "activities[1][1]: expected a number of at least 0.0015");
  refuses("/activities/1/2", 3, "activities[1][2]: expected an integer from 0 to 2, found 3");
  refuses("/activities/1/4", 2, "activities[1][4]: expected an integer from 0 to 1, found 2");
  refuses("/activities/1/5", 2, "activities[1][5]: expected an integer from -1 to 1, found 2");
  refuses("/activities/1/6", -2, "activities[1][6]: expected an integer from -1");
  refuses("/activities/1/7", 10'000, "activities[1][7]: expected an integer from -1 to 9999");
  refuses("/activities/1/8", -1, "activities[1][8]: expected an integer from 0");
  refuses("/activities/1/9", 1, "activities[1]: expected 9 numbers, found more");
  refuses("/activities", 5, "activities: expected an array");
  refuses("/activity_names/0", 5, "activity_names[0]: expected a string");
  refuses("/activity_fields", 5, "activity_fields: expected [\"begin_seconds\",");
  refuses("/clock", "wall", "clock: expected \"host\" or \"device\"");
  refuses("/driver/1/0", -1, "driver[1][0]: expected a number of at least 0.0");
  refuses("/driver_fields", 5, "driver_fields: expected [\"seconds\",");
  refuses("/sources/0/captured", 1, "sources[0].captured: expected");
  refuses("/records_lost", -1, "records_lost: expected an integer");
  refuses("/steps/0/device_seconds", -1, "steps[0].device_seconds: expected a number of at least 0");
  json document = files.written();
  for (const char* key : {"activities", "driver", "sources", "activity_names", "activities_left_out"}) {
    json less = document;
    less.erase(key);
    CHECK_THROWS_WITH(trace_from_json(less.dump(), "t"),
                      Catch::StartsWith(std::string("t: ") + key + ": missing"));
  }
}

TEST_CASE("trace exports: a GPU's streams are tracks of their own, with the steps that they work for",
          "[unit][trace_file]") {
  const Files files;
  write_chrome_trace(files.scratch / "chrome.json", gpu_sample_trace(), files.plan, files.graph);
  const json chrome = read_json_file(files.scratch / "chrome.json", 1 << 20);
  std::map<std::string, std::vector<json>> by_name;
  for (const json& event : chrome["traceEvents"]) by_name[event["name"]].push_back(event);
  REQUIRE(by_name["multiply"].size() == 2);
  const json& kernel = by_name["multiply"][0];
  CHECK(kernel["ph"] == "X");
  CHECK(kernel["pid"] == 2);
  CHECK(kernel["tid"] == 7);
  CHECK(kernel["ts"] == Approx(1000));
  CHECK(kernel["dur"] == Approx(1000));
  const Step& step = files.plan.passes[0].steps[1];
  CHECK(kernel["args"]["step"] ==
        std::string(name_of(step.kind)) + " " + files.graph.tensor(step.tensor).name);
  CHECK_FALSE(by_name["multiply"][1]["args"].contains("step"));  // between steps
  CHECK(by_name["host to device"][0]["args"]["bytes"] == 1 << 20);
  const auto last = [&](const char* name) { return by_name.at(name).back()["args"]["bytes"]; };
  CHECK(last("slack") == 10'000);
  CHECK(last("tile") == 0);
  CHECK(last("libraries") == 512);
  CHECK(last("context") == 300);
  CHECK(last("counted by the driver") == 10'812);
}

TEST_CASE("trace exports: the table has what there is of every kind after each event", "[unit][trace_file]") {
  const Files files;
  write_trace_csv(files.scratch / "events.csv", gpu_sample_trace(), files.graph);
  std::istringstream lines(test::read_bytes(files.scratch / "events.csv"));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  REQUIRE(rows.size() == 6);
  CHECK(rows[0] ==
        "seconds,kind,layer,pass,tile,bytes,weights_bytes,latent_bytes,kept_bytes,tile_bytes,workspace_bytes,"
        "slack_bytes,libraries_bytes,context_bytes,all_bytes");
  CHECK(rows[1] == "0.000000,context,,,,300,0,0,0,0,0,0,0,300,300");
  CHECK(rows[3] ==
        "0.000125,tile," + files.graph.tensor(TensorId{1}).name + ",0,0,4096,0,0,0,4096,0,5904,0,300,10300");
  CHECK(rows[5] ==
        "0.300000,tile," + files.graph.tensor(TensorId{1}).name + ",0,0,-4096,0,0,0,0,0,10000,512,300,10812");
}

}  // namespace
}  // namespace headroom
