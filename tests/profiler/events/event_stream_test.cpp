#include "profiler/events/event_stream.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/decoder/files/scratch.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/captured_decode.h"

namespace headroom::profiler {
namespace {

using nlohmann::json;

/// One of each kind.
DeviceRecording sample() {
  DeviceRecording recording;
  recording.plan = "16x16, frames 1";
  recording.device = "a \"GPU\"";
  recording.libraries = "LibTorch 2.11.0";
  recording.sources = {{"CUPTI kernels", true, "version 26"}, {"CUPTI memory", false, "held by another"}};
  recording.events = {ScopeBegan{5, ScopeId{1}, 2, 0, 7, 1},
                      Allocated{6, 0x7f0000000000, 512, MemoryKind::workspace, TensorId{3}},
                      Freed{7, 0x7f0000000000},
                      SegmentChanged{1, 0x7f0000000000, -(int64_t{1} << 40)},
                      MemoryRefused{8, 100, 5},
                      DriverMemoryChanged{9, 4096, 12, UINT32_MAX, MemoryPlace::managed, 77, 1 << 20},
                      DriverPoolChanged{10, 77, 0},
                      DeviceActivity{11, 12, 3, 7, 99, ActivityKind::copy, "host to device"},
                      ScopeOfCall{3, ScopeId{1}},
                      DriverCall{13, 14, 4, "cuMemCreate"},
                      RecordsLost{15},
                      DriverCounted{16, -5}};
  return recording;
}

std::string text_of(const DeviceRecording& recording) {
  const test::Scratch scratch;
  write_events(scratch / "events.jsonl", recording);
  return test::read_bytes(scratch / "events.jsonl");
}

TEST_CASE("events come back as they were", "[unit][events]") {
  CHECK(std::variant_size_v<DeviceEvent> == sample().events.size());
  CHECK(events_from_text(text_of(sample()), "e") == sample());
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const DeviceRecording drawn = test::hear_decode(3, plan, graph).recording;
  CHECK(events_from_text(text_of(drawn), "e") == drawn);
}

TEST_CASE("wrong events are refused by line and column", "[unit][events]") {
  const std::string text = text_of(sample());
  const std::string head = text.substr(0, text.find('\n') + 1);
  const auto refuses = [&](const std::string& line, const std::string& why) {
    CAPTURE(line);
    CHECK_THROWS_WITH(events_from_text(head + line, "e"), Catch::StartsWith("e: line 2: " + why));
    CHECK_THROWS_AS(events_from_text(head + line, "e"), InputError);
  };
  refuses("[]", "expected an event, found []");
  refuses("5", "expected an array");
  refuses("[5]", "[0]: expected a string");
  refuses(R"(["dance",1])", "[0]: expected a kind of event, found \"dance\"");
  refuses(R"(["freed",1])", "[2]: missing");
  refuses(R"(["freed",1,2,3])", "expected 3 columns, found 4");
  refuses(R"(["freed",-1,2])", "[1]: expected an integer from 0");
  refuses(R"(["freed",1e30,2])", "[1]: expected an integer");
  refuses(R"(["freed",1,-2])", "[2]: expected an integer from 0");
  refuses(R"(["scope",1,1,0,-2,0,0])", "[4]: expected an integer from -1");
  refuses(R"(["allocated",1,1,-5,"tile",0])", "[3]: expected an integer from 0");
  refuses(R"(["allocated",1,1,5,"slack",0])", "[4]: found \"slack\", which is none of its kinds");
  refuses(R"(["driver",1,1,5,4294967296,"device",0,0])", "[4]: expected an integer from 0 to 4294967295");
  refuses(R"(["activity",1,2,3,4,5,"nap","k"])", "[6]: found \"nap\"");
  refuses(R"(["activity",1,2,3,4,5,"kernel",")" + std::string(5000, 'k') + "\"]", "[7]: expected a name");
  refuses("[\"freed\",1,", "not valid JSON");
  refuses(std::string(70'000, '['), "longer than 65536 bytes");
  refuses(std::string(1000, '['), "nested deeper than 64 levels");
  CHECK_THROWS_WITH(events_from_text("", "e"), Catch::Contains("found an empty file"));
  CHECK_THROWS_WITH(events_from_text(R"({"schema":"headroom.plan","version":1})", "e"),
                    Catch::Contains("expected \"headroom.events\""));
  CHECK_THROWS_WITH(events_from_text(R"({"schema":"headroom.events","version":3})", "e"),
                    Catch::Contains("newer"));
  for (size_t size = 0; size < text.size(); size += 7) {
    try {
      events_from_text(text.substr(0, size), "cut");
    } catch (const InputError&) {  // or whole lines less
    }
  }
}

}  // namespace
}  // namespace headroom::profiler
