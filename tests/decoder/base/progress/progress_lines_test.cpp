#include "decoder/base/progress/progress_lines.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

using nlohmann::json;

const std::vector<ProgressEvent>& every_event() {
  static const std::vector<ProgressEvent> events{
      {0,
       RunBegun{"headroom-decode", "sdxl", "a b.png", "p.ppm", 1 << 30, 1 << 29, 12.5, 1024, 768, 2, 60, 0}},
      {0.001, RunBegun{"headroom-profile", {}, {}, {}, 0, 0, 0, 0, 0, 0, 0, 0}},
      {0.5, WorkDone{0.25, "512x512 decoder.conv_in"}},
      {0.75, WeightsLoaded{1}},
      {1, DecodeStarted{3, 8, "poster"}},
      {1.5, VerificationStarted{"the untiled decode"}},
      {2, PassStarted{1, 59, 60, "decoder.conv_out"}},
      {2.125, TileDone{1, 59, 6, 7, 0.9999, PictureRegion{{64, 128}, {0, 1024}}}},
      {2.25, TileDone{0, 0, 0, 1, 0, {}}},
      {2.375, StepsDone{1, 59, 3, 2, 11, 0.5}},
      {2.5, MemorySample{1, int64_t{1} << 40, 0}},
      {3, RunEnded{4, 0, 0}},
      {86400.123, RunEnded{0, 1 << 29, 86399.5}},
  };
  return events;
}

/// Events and messages that a reader parsed from a stream.
struct Read {
  std::vector<ProgressEvent> events;
  std::vector<std::string> messages;
  int64_t damaged = 0;
};

/// Feeds the stream in pieces of this many bytes.
Read read(const std::string& stream, size_t piece) {
  Read found;
  ProgressReader reader([&](const ProgressEvent& event) { found.events.push_back(event); },
                        [&](const std::string& message) { found.messages.push_back(message); });
  for (size_t begin = 0; begin < stream.size(); begin += piece) reader.read(stream.substr(begin, piece));
  reader.finish();
  found.damaged = reader.damaged();
  return found;
}

TEST_CASE("progress: every event is one line and comes back") {
  for (const ProgressEvent& event : every_event()) {
    const std::string line = progress_line(event);
    CAPTURE(line);
    CHECK(line.starts_with("headroom-progress {"));
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(read_progress_line(std::string_view(line).substr(0, line.size() - 1)) == event);
  }
}

TEST_CASE("progress: keys are those that are documented") {
  const auto line = [](const ProgressEvent& event) {
    return json::parse(progress_line(event).substr(kProgressPrefix.size()));
  };
  CHECK(line(every_event()[7]) ==
        json::parse(R"({"event": "tile", "seconds": 2.125, "item": 1, "pass": 59, "tile": 6, "of": 7,
                        "share": 0.9999, "region": {"rows": [64, 128], "columns": [0, 1024]}})"));
  CHECK(line(every_event()[1]) ==
        json::parse(R"({"event": "begin", "seconds": 0.001, "version": 1, "program": "headroom-profile"})"));
  CHECK(line(every_event()[9]) == json::parse(R"({"event": "steps", "seconds": 2.375, "item": 1, "pass": 59,
                                                  "tile": 3, "steps": 2, "of": 11, "share": 0.5})"));
  CHECK(line({1, StepsDone{0, 1, 2, 3, 4, 0.5, 0.25}})["step_share"] == 0.25);
  CHECK(line(every_event()[10]) == json::parse(R"({"event": "memory", "seconds": 2.5, "live_bytes": 1,
                                                  "peak_bytes": 1099511627776, "outside_bytes": 0})"));
  CHECK(line(every_event()[11]) == json::parse(R"({"event": "end", "seconds": 3.0, "exit_code": 4})"));
  RunBegun unlimited;
  unlimited.limit_bytes = std::numeric_limits<int64_t>::max();
  CHECK_FALSE(line({0, unlimited}).contains("limit_bytes"));
}

TEST_CASE("progress: names that are no UTF-8 or hold line ends do no harm") {
  const std::string line = progress_line({0, PassStarted{0, 0, 1, "a\xff\n\"b"}});
  CHECK(line.find('\n') == line.size() - 1);
  const ProgressEvent event = read_progress_line(line.substr(0, line.size() - 1));
  CHECK_THAT(std::get<PassStarted>(event.news).name, Catch::StartsWith("a") && Catch::EndsWith("\n\"b"));
}

TEST_CASE("progress: a stream is read alike in whatever pieces it comes") {
  std::string stream = "a message\n";
  for (const ProgressEvent& event : every_event()) stream += progress_line(event);
  stream += "\nheadroom-decode: the last words, without an end";
  const Read whole = read(stream, stream.size());
  CHECK(whole.events == every_event());
  CHECK(whole.messages ==
        std::vector<std::string>{"a message", "", "headroom-decode: the last words, without an end"});
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, size_t{19}, size_t{64}, size_t{1000}}) {
    CAPTURE(piece);
    const Read cut = read(stream, piece);
    CHECK(cut.events == whole.events);
    CHECK(cut.messages == whole.messages);
    CHECK(cut.damaged == 0);
  }
}

TEST_CASE("progress: a line behind a message without an end is read all the same") {
  const Read found = read("warning: slow" + progress_line({1, WeightsLoaded{0.5}}), 5);
  CHECK(found.messages == std::vector<std::string>{"warning: slow"});
  CHECK(found.events == std::vector<ProgressEvent>{{1, WeightsLoaded{0.5}}});
}

TEST_CASE("progress: events of later releases are nothing, and their keys are ignored") {
  const Read found = read(
      "headroom-progress {\"event\":\"dance\",\"seconds\":1,\"steps\":3}\n"
      "headroom-progress {\"event\":\"weights\",\"seconds\":2,\"share\":0.5,\"mood\":\"good\"}\n",
      100);
  REQUIRE(found.events.size() == 2);
  CHECK(std::holds_alternative<std::monostate>(found.events[0].news));
  CHECK(std::get<WeightsLoaded>(found.events[1].news).share == 0.5);
  CHECK(found.damaged == 0);
}

TEST_CASE("progress: damaged lines are left out, and the next one counts again") {
  const std::string good = progress_line({1, WeightsLoaded{0.5}});
  std::vector<std::string> bad{
      "headroom-progress ",
      "headroom-progress {",
      "headroom-progress []",
      "headroom-progress {\"event\":\"weights\",\"share\":0.5}",
      "headroom-progress {\"event\":\"weights\",\"seconds\":-1,\"share\":0.5}",
      "headroom-progress {\"event\":\"weights\",\"seconds\":1,\"share\":1.5}",
      "headroom-progress {\"event\":\"weights\",\"seconds\":1,\"share\":\"half\"}",
      "headroom-progress {\"event\":\"memory\",\"seconds\":1,\"live_bytes\":-5,\"peak_bytes\":1,"
      "\"outside_bytes\":0}",
      "headroom-progress {\"event\":\"memory\",\"seconds\":1,\"live_bytes\":1e99,\"peak_bytes\":1,"
      "\"outside_bytes\":0}",
      "headroom-progress {\"event\":\"tile\",\"seconds\":1,\"item\":0,\"pass\":0,\"tile\":0,\"of\":1,"
      "\"share\":0,\"region\":{\"rows\":[5,2],\"columns\":[0,1]}}",
      "headroom-progress {\"event\":\"end\",\"seconds\":1,\"exit_code\":1000}",
      "headroom-progress {\"event\":7,\"seconds\":1}",
      "headroom-progress " + std::string(100'000, '['),
      "headroom-progress {\"event\":\"weights\",\"seconds\":1,\"share\":\"\xff\"}",
  };
  for (size_t length = kProgressPrefix.size(); length + 1 < good.size(); ++length)
    bad.push_back(good.substr(0, length));
  for (const std::string& line : bad) {
    CAPTURE(line.substr(0, 200));
    CHECK_THROWS_AS(read_progress_line(line), InputError);
    const Read found = read(line + "\n" + good, 4096);
    CHECK(found.damaged == 1);
    CHECK(found.messages.empty());
    CHECK(found.events == std::vector<ProgressEvent>{{1, WeightsLoaded{0.5}}});
  }
}

TEST_CASE("progress: an endless line takes no endless memory") {
  const Read found = read(std::string(10 << 20, 'x') + "\n" + progress_line({1, WeightsLoaded{0.5}}), 5000);
  REQUIRE(found.messages.size() == 1);
  CHECK(found.messages[0] == std::string(64 * 1024, 'x'));
  CHECK(found.events.size() == 1);
}

}  // namespace
}  // namespace headroom
