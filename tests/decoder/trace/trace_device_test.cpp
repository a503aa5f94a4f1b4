// Traces of a GPU: what their files have beside what every trace has, and their exports.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "decoder/base/json_fields.h"
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
  const Trace trace = gpu_sample_trace(), read = read_traces(files.scratch / "trace.json").at(0).trace;
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
    CHECK_THROWS_WITH(traces_from_json(document.dump(), "t"), Catch::StartsWith("t: " + start));
    CHECK_THROWS_AS(traces_from_json(document.dump(), "t"), InputError);
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
    CHECK_THROWS_WITH(traces_from_json(less.dump(), "t"),
                      Catch::StartsWith(std::string("t: ") + key + ": missing"));
  }
}

}  // namespace
}  // namespace headroom
