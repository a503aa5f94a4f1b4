#include "decoder/trace/trace_file.h"
#include "decoder/base/json_fields.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/decoder/files/scratch.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::require_input_error;

/// Times are whole microseconds, as the file has them.
Trace sample_trace() {
  Trace trace;
  trace.model = "a \"model\"";
  trace.device = "two cores";
  trace.libraries = "LibTorch 2.11.0";
  trace.limit_bytes = 28'000;
  trace.request = Request{"a \"model\"", 128, 64, 1, 3, Dtype::bf16};
  trace.seconds = 1.0 / 3;
  const auto weights = MemoryKind::weights, latent = MemoryKind::latent, kept = MemoryKind::kept,
             tile = MemoryKind::tile;
  trace.events = {{0, 11840, -1, -1, TensorId{-1}, weights},  {0.000125, 1024, -1, -1, TensorId{0}, latent},
                  {0.25, 4096, 0, 0, TensorId{1}, tile},      {0.25, 8192, 1, 0, TensorId{1}, kept},
                  {0.250001, -4096, 1, 1, TensorId{1}, tile}, {0.3, -8192, -1, 1, TensorId{-1}, kept},
                  {0.3, -1024, -1, -1, TensorId{-1}, latent}};
  trace.summed_by_step_from_seconds = 0.250001;
  trace.summed_by_pass_from_seconds = 0.28;
  trace.passes = {{0.125, 0.25, 0, 0}, {0.25, 0.28125, 0, 1}, {0.28125, 0.3, 1, 0}};
  trace.tiles = {{0.125, 0.25, 0, 0, 0}, {0.25, 0.28125, 0, 1, 1}};
  trace.step_sums = {{0, 1, 3, 0.1}, {1, 2, 3, 0.1 + 0.2}};
  trace.tiles_left_out = 7;
  trace.steps_left_out = int64_t{1} << 40;
  trace.outside = {{0, 4096}, {0.26, 0}, {0.3, int64_t{1} << 40}};
  trace.places = {{0, 0.3, 8192, 16384, TensorId{-1}, -1, weights},
                  {0.25, 0.250001, 0, 8192, TensorId{1}, 1, tile}};
  trace.places_left_out = 5;
  return trace;
}

json sample_json() {
  const test::Scratch scratch;
  const Graph graph = testing::small_graph();
  write_trace(scratch / "trace.json", sample_trace(), testing::small_plan(graph), graph);
  return read_json_file(scratch / "trace.json", 1 << 20);
}

RecordedTrace read(const json& document) {
  return traces_from_json(document.dump(), "trace.json").at(0);
}

void refuses(const std::string& pointer, const json& value, const std::string& start) {
  json document = sample_json();
  document[json::json_pointer(pointer)] = value;
  CAPTURE(pointer, value.dump());
  CHECK_THROWS_WITH(read(document), Catch::StartsWith("trace.json: " + start));
  CHECK_THROWS_AS(read(document), InputError);
}

TEST_CASE("trace file: a trace comes back as it was", "[unit][trace_file]") {
  const test::Scratch scratch;
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const Trace trace = sample_trace();
  write_trace(scratch / "trace.json", trace, plan, graph);
  const RecordedTrace recorded = read_traces(scratch / "trace.json").at(0);
  CHECK(recorded.trace.model == trace.model);
  CHECK(recorded.trace.device == trace.device);
  CHECK(recorded.trace.libraries == trace.libraries);
  CHECK(recorded.trace.limit_bytes == trace.limit_bytes);
  CHECK(recorded.trace.request == trace.request);
  CHECK(recorded.trace.seconds == trace.seconds);
  CHECK(recorded.trace.events == trace.events);
  CHECK(recorded.trace.summed_by_step_from_seconds == trace.summed_by_step_from_seconds);
  CHECK(recorded.trace.summed_by_pass_from_seconds == trace.summed_by_pass_from_seconds);
  CHECK(recorded.trace.passes == trace.passes);
  CHECK(recorded.trace.tiles == trace.tiles);
  CHECK(recorded.trace.step_sums == trace.step_sums);
  CHECK(recorded.trace.tiles_left_out == trace.tiles_left_out);
  CHECK(recorded.trace.steps_left_out == trace.steps_left_out);
  CHECK(recorded.trace.outside == trace.outside);
  CHECK(recorded.trace.places == trace.places);
  CHECK(recorded.trace.places_left_out == 5);
  REQUIRE(recorded.layers.size() == graph.tensors().size());
  for (size_t i = 0; i < recorded.layers.size(); ++i) CHECK(recorded.layers[i] == graph.tensors()[i].name);
  CHECK(recorded.pass_names == std::vector<std::string>{"conv_in", "residual"});
  const auto layer = [&](const char* name) { return static_cast<int32_t>(graph.find_tensor(name)); };
  CHECK(recorded.steps == std::vector<RecordedStep>{{"conv", layer("conv_in")}, {"add", layer("residual")}});
  CHECK_THROWS_AS(read_traces(scratch / "none.json"), InputError);
}

TEST_CASE("trace file: one without events, one without sums, and keys that are not known",
          "[unit][trace_file]") {
  json document = sample_json();
  for (const char* key : {"summed_by_step_from_seconds", "summed_by_pass_from_seconds"}) document.erase(key);
  CHECK(read(document).trace.summed_by_step_from_seconds < 0);
  CHECK(read(document).trace.summed_by_pass_from_seconds < 0);
  for (const char* key : {"events", "tiles", "outside", "places", "passes", "steps"})
    document[key] = json::array();
  CHECK(read(document).trace.events.empty());
  CHECK(read(document).pass_names.empty());

  document = sample_json();
  document["later"] = {{"events", {{1, 2}, "three"}}, {"tiles", nullptr}};
  document["also later"] = {{1, 2}, {3, {4, {"events", 5}}}};
  CHECK(read(document).trace.events == sample_trace().events);
}

TEST_CASE("trace file: the order of keys is of no matter, and the last of two counts", "[unit][trace_file]") {
  const std::string text = sample_json().dump();
  const std::string head = text.substr(1, text.size() - 2);
  const std::string events = sample_json()["events"].dump();
  CHECK(traces_from_json("{\"events\":[[0,0,-1,-1,-1,5,0]],\"tiles\":8," + head + "}", "t")
            .at(0)
            .trace.events == sample_trace().events);
  CHECK(traces_from_json("{" + head + ",\"events\":" + events + "}", "t").at(0).trace.events ==
        sample_trace().events);
  require_input_error([&] { traces_from_json("{" + head + ",\"events\":7}", "t"); },
                      {"t: events: expected an array, found number"});
}

TEST_CASE("trace file: wrong places are refused by their path", "[unit][trace_file]") {
  refuses("/places/1/3", 1000, "places[1][3]: expected an integer from -1 to ");
  refuses("/places/0/4", 7, "places[0][4]: expected an integer from -1 to 1, found 7");
  refuses("/places/0/5", -1, "places[0][5]: expected an integer from 0");
  refuses("/places/1/6", int64_t{1} << 60, "places[1][6]: expected an integer from 0");
  refuses("/places/1/1", 0.1, "places[1][1]: expected a number of at least 0.25, found 0.1");
  refuses("/place_fields/5", "address", "place_fields: expected [");
  refuses("/places", json::array({json::array({1, 2})}), "places[0]: expected 7 numbers");
}

TEST_CASE("trace file: wrong values are refused by their path", "[unit][trace_file]") {
  refuses("/version", 4, "version: written by a newer Headroom: version 4");
  refuses("/version", 2, "version: written by an older Headroom: version 2");
  refuses("/schema", "headroom.plan", "schema: expected \"headroom.trace\"");
  refuses("/seconds", -1, "seconds: expected a number of at least 0");
  refuses("/limit_bytes", UINT64_MAX, "limit_bytes: expected an integer");
  refuses("/summed_by_step_from_seconds", "late", "summed_by_step_from_seconds: expected a number");
  refuses("/kinds/2", "tile", "kinds: expected [\"weights\",");
  refuses("/event_fields/0", "bytes", "event_fields: expected [\"seconds\",");
  refuses("/tile_fields", 3, "tile_fields: expected [\"begin_seconds\",");
  refuses("/outside_fields", json::array(), "outside_fields: expected [\"seconds\",");
  refuses("/layers/1", 5, "layers[1]: expected a string");

  refuses("/events/2", 5, "events: expected rows alone, found other values");
  refuses("/events/2", nullptr, "events: expected rows alone, found other values");
  refuses("/events/2", json::object(), "events: expected rows alone, found other values");
  refuses("/events/2", json::array(), "events[2]: expected 7 numbers, found 0");
  refuses("/events/2", json::array({1, 0, -1, -1, -1, 5, 0, 7}), "events[2]: expected 7 numbers, found more");
  refuses("/events/2/5", "many", "events[2][5]: expected an integer from");
  refuses("/events/2/5", json::array({1}), "events[2][5]: expected an integer from");
  refuses("/events/2/5", json::object(), "events[2][5]: expected an integer from");
  refuses("/events/2/0", true, "events[2][0]: expected a number of at least 0.000125, found true");
  refuses("/events/4/0", 0.125, "events[4][0]: expected a number of at least 0.25, found 0.125");
  refuses("/events/0/0", -0.5, "events[0][0]: expected a number of at least 0.0, found -0.5");
  refuses("/events/2/1", 8, "events[2][1]: expected an integer from 0 to 7, found 8");
  refuses("/events/2/1", -1, "events[2][1]: expected an integer from 0 to 7, found -1");
  refuses("/events/2/1", 1.5, "events[2][1]: expected an integer from 0 to 7, found 1.5");
  refuses("/events/2/2", 8, "events[2][2]: expected an integer from -1 to 7, found 8");
  refuses("/events/2/2", -2, "events[2][2]: expected an integer from -1");
  refuses("/events/2/3", 2, "events[2][3]: expected an integer from -1 to 1, found 2");
  refuses("/events/2/3", INT64_MAX, "events[2][3]: expected an integer from -1");
  refuses("/events/2/4", -2, "events[2][4]: expected an integer from -1");
  refuses("/events/2/5", UINT64_MAX, "events[2][5]: expected an integer from");
  refuses("/events/2/5", 4e3, "events[2][5]: expected an integer from");
  // No more goes than came, of each kind; and no sum is out of range.
  refuses("/events/4/5", -4097, "events[4][5]: expected an integer from -4096 to");
  refuses("/events/4/1", 4, "events[4][5]: expected an integer from 0 to");
  refuses("/events/2/5", (int64_t{1} << 60) - 5000, "events[2][5]: expected an integer from 0 to");

  refuses("/tiles/1/1", 0.2, "tiles[1][1]: expected a number of at least 0.25, found 0.2");
  refuses("/tiles/1/0", 0.1, "tiles[1][0]: expected a number of at least 0.125, found 0.1");
  refuses("/tiles/1/3", 2, "tiles[1][3]: expected an integer from 0 to 1, found 2");
  refuses("/tiles/1/2", -1, "tiles[1][2]: expected an integer from 0");
  refuses("/outside/1/0", 0.4, "outside[2][0]: expected a number of at least 0.4, found 0.3");
  refuses("/outside/1/1", -1, "outside[1][1]: expected an integer from 0");
  refuses("/outside", json::object(), "outside: expected an array");

  refuses("/passes/1/begin_seconds", 0.2, "passes[1].begin_seconds: expected at least");
  refuses("/passes/1/end_seconds", 0.2, "passes[1].end_seconds: expected at least 0.25, found 0.2");
  refuses("/passes/1/pass", 1 << 20, "passes[1].pass: expected an integer from 0 to 9999");
  refuses("/passes/2/name", "another", "passes[2].name: expected the name that pass 0 has above");
  refuses("/steps/1/kind", "dance", "steps[1].kind: expected a kind of step, found \"dance\"");
  refuses("/steps/1/layer", 8, "steps[1].layer: expected an integer from -1 to 7");
  refuses("/steps/1/pass", 2, "steps[1].pass: expected an integer from 0 to 1");
  refuses("/steps/1/calls", 1e30, "steps[1].calls: expected an integer");

  const json document = sample_json();
  for (const auto& item : document.items()) {
    if (item.key().starts_with("summed_by")) continue;
    json less = document;
    less.erase(item.key());
    CHECK_THROWS_WITH(read(less), Catch::StartsWith("trace.json: " + item.key() + ": missing"));
  }
}

TEST_CASE("trace file: what is no trace at all is refused in one line", "[unit][trace_file]") {
  const std::string text = sample_json().dump();
  for (size_t size = 0; size < text.size(); size += 1 + size % 5)
    require_input_error([&] { traces_from_json(text.substr(0, size), "cut.json"); }, {"cut.json: "});
  require_input_error([&] { traces_from_json("5", "t"); }, {"t: expected an object"});
  require_input_error([&] { traces_from_json("[[[1,2]]]", "t"); }, {"t: expected an object"});
  for (const char* number : {"1e999", "-1e999", "NaN"}) {
    CAPTURE(number);
    const std::string events = std::string("{\"events\":[[") + number + ",0,-1,-1,-1,5,0]]}";
    require_input_error([&] { traces_from_json(events, "t"); }, {"t: not valid JSON"});
  }
  // A fault behind a list is reported with its own line.
  require_input_error([&] { traces_from_json("{\"events\":[\n\n],\n\"a\":?}", "t"); },
                      {"t: not valid JSON", "line 4"});
  const std::string deep(200'000, '[');
  require_input_error([&] { traces_from_json(deep, "t"); }, {"t: nested deeper than 64 levels"});
  require_input_error([&] { traces_from_json("{\"layers\":" + deep, "t"); },
                      {"t: nested deeper than 64 levels"});
  require_input_error([&] { traces_from_json("{\"events\":" + deep, "t"); },
                      {"t: nested deeper than 64 levels"});
  const std::string large = "{\"x\":\"" + std::string(64 << 20, 'x') + "\"}";
  require_input_error([&] { traces_from_json(large, "t"); },
                      {"t: expected JSON with strings of at most 1 MiB"});
}

}  // namespace
}  // namespace headroom
