#include "decoder/plan/plan_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/decoder/plan/refused_plan.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

using nlohmann::json;
using testing::small_graph;
using testing::small_plan;
using testing::small_plan_below;
using testing::small_plan_in_place;

Plan read(const json& document, const Graph& graph) {
  return plan_from_json(JsonFields(document, "plan.json"), graph);
}

void refuses(const json& document, const Graph& graph, const std::string& start) {
  testing::require_refused([&] { read(document, graph); }, start);
}

TEST_CASE("plan file: a plan comes back as it was", "[unit][plan_file]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.predicted_seconds = 0.1 + 0.2;  // a number that needs all its digits
  plan.optimal = true;
  plan.assumed = false;
  plan.request.dtype = Dtype::bf16;
  plan.limit_bytes = std::numeric_limits<int64_t>::max();
  CHECK(read(to_json(plan, graph), graph) == plan);

  for (const bool in_place : {false, true}) {
    const Plan fused = testing::small_plan_fused(graph, in_place);
    CHECK(read(to_json(fused, graph), graph) == fused);
  }
  json unknown = to_json(testing::small_plan_fused(graph, false), graph);
  unknown["passes"][0]["steps"][1]["target"] = "nowhere";
  refuses(unknown, graph, "passes[0].steps[1].target: expected one of tile, blocks, in_place");
  unknown["passes"][0]["steps"][1]["target"] = "blocks";
  unknown["passes"][1]["steps"][1]["add"] = "something";
  refuses(unknown, graph, "passes[1].steps[1].add: expected the name of an operation");

  Plan edged = plan;
  edged.passes[1].steps[0].edges = Edges::replicate;
  edged.passes[2].steps[0].edges = Edges::reflect;
  json document = to_json(edged, graph);
  CHECK(document["passes"][1]["steps"][0]["edges"] == "replicate");
  CHECK_FALSE(document["passes"][0]["steps"][0].contains("edges"));
  CHECK(read(document, graph) == edged);
  document["passes"][1]["steps"][0]["edges"] = "wrap";
  refuses(document, graph, "passes[1].steps[0].edges: expected one of zeros, replicate, reflect");

  Plan carrying = plan;
  carrying.passes[1].carries_rows = true;
  document = to_json(carrying, graph);
  CHECK(document["passes"][1]["carries_rows"] == true);
  CHECK_FALSE(document["passes"][0].contains("carries_rows"));
  CHECK(read(document, graph) == carrying);
  document["passes"][1]["carries_rows"] = 1;
  refuses(document, graph, "passes[1].carries_rows: expected true or false");

  Plan some_direct = plan;
  const OpId op = some_direct.passes[1].steps[1].op;
  some_direct.passes[1].convolutions = {ConvolutionAlgorithm::winograd, {op}};
  document = to_json(some_direct, graph);
  CHECK(document["passes"][1]["direct_convolutions"] == json{graph.op(op).name});
  CHECK_FALSE(document["passes"][0].contains("direct_convolutions"));
  CHECK(read(document, graph) == some_direct);
  document["passes"][1]["direct_convolutions"][0] = "something";
  refuses(document, graph, "passes[1].direct_convolutions[0]: expected the name of an operation");

  const testing::PlanPath file;
  write_plan(file.path, plan, graph);
  CHECK(read_plan(file.path, graph) == plan);
  CHECK(PlanFile(file.path).request() == plan.request);

  const Graph pointwise = small_graph(1);
  const Plan in_place = small_plan_in_place(pointwise);
  CHECK(read(to_json(in_place, pointwise), pointwise) == in_place);
}

/// A plan that uses every key.
Plan plan_with_everything(const Graph& graph) {
  Plan plan = small_plan_below(graph);
  plan.kept[1].tier = MemoryTier::host;
  plan.host_limit_bytes = 1 << 20;
  plan.host_weights_bytes = 1 << 19;
  plan.weights = WeightResidency::per_pass;
  plan.bound_seconds = 0.1 + 0.2;
  plan.environment = {"two cores, 2 threads", "LibTorch 2.11.0, oneDNN 3.10"};
  plan.engines = {{"fp16 4->4", "cuDNN 41 k2=1", 0.5, "cuDNN 41 k2=0", 0.75}, {"fp16 4->8", "a", 1, "b", 2}};
  return plan;
}

TEST_CASE("plan file: memory tiers, weights, bound and environment come back as they were",
          "[unit][plan_file]") {
  const Graph graph = small_graph();
  const Plan plan = plan_with_everything(graph);
  const json document = to_json(plan, graph);
  CHECK(document["kept"][0]["tier"] == "scratch");
  CHECK(document["kept"][1]["tier"] == "host");
  CHECK(document["weights"] == "per_pass");
  CHECK(document["host_limit_bytes"] == 1 << 20);
  CHECK(document["host_weights_bytes"] == 1 << 19);
  CHECK(document["scratch"] == json({{"folder", "/scratch"}, {"limit_bytes", 4096}}));
  CHECK(document["bound_seconds"] == 0.1 + 0.2);
  CHECK(document["environment"]["device"] == "two cores, 2 threads");
  CHECK(document["environment"]["libraries"] == "LibTorch 2.11.0, oneDNN 3.10");
  CHECK(read(document, graph) == plan);

  const testing::PlanPath file;
  write_plan(file.path, plan, graph);
  CHECK(read_plan(file.path, graph) == plan);

  // Fields that a plan does not use are not written.
  const json plain = to_json(small_plan(graph), graph);
  for (const char* key : {"host_limit_bytes", "host_weights_bytes", "scratch", "environment", "engines"})
    CHECK_FALSE(plain.contains(key));
  CHECK(plain["weights"] == "resident");
}

TEST_CASE("plan file: choices of engines that cannot be meant are refused", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const json document = to_json(plan_with_everything(graph), graph);
  const auto refused = [&](const char* key, const json& value, const std::string& message) {
    json changed = document;
    changed["engines"][1][key] = value;
    CAPTURE(key);
    CHECK_THROWS_WITH(read(changed, graph),
                      Catch::Matchers::Contains("engines[1]." + std::string(key) + ": " + message));
  };
  refused("problem", "fp16 4->4", "expected each convolution once");
  refused("engine", "", "expected a text of 1 to 1000 bytes");
  refused("first_engine", std::string(1001, 'x'), "expected a text of 1 to 1000 bytes");
  refused("seconds", -1, "expected");
}

TEST_CASE("plan file: the device comes back", "[unit][plan_file]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  json named = to_json(plan, graph);
  CHECK(named["request"]["device"] == "cpu");
  CHECK(read(named, graph) == plan);

  plan.request.device = DeviceKind::cuda;
  const json document = to_json(plan, graph);
  CHECK(document["request"]["device"] == "cuda");
  CHECK(read(document, graph) == plan);
  named["request"]["device"] = "tpu";
  refuses(named, graph, "request.device: expected one of cpu, cuda, torch, found \"tpu\"");
  named["request"]["device"] = 1;
  refuses(named, graph, "request.device: ");
  CHECK(parse_device("cuda") == DeviceKind::cuda);
  CHECK_THROWS_WITH(parse_device("gpu"), "--device: expected cpu or cuda, found 'gpu'");
}

TEST_CASE("plan file: TF32 comes back, and needs fp32 on cuda", "[unit][plan_file]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.request.device = DeviceKind::cuda;
  CHECK_FALSE(to_json(plan, graph)["request"].contains("tf32"));
  for (const Tf32 tf32 : {Tf32{}, Tf32{true, false}, Tf32{false, true}, Tf32{true, true}}) {
    plan.request.tf32 = tf32;
    CHECK(read(to_json(plan, graph), graph) == plan);
  }
  const json sound = to_json(plan, graph);
  CHECK(sound["request"]["tf32"] == "all");
  const auto changed = [&](const char* key, const json& value) {
    json document = sound;
    document["request"][key] = value;
    return document;
  };
  refuses(changed("tf32", "yes"), graph,
          "request.tf32: expected one of all, convolutions, products, found \"yes\"");
  refuses(changed("tf32", true), graph, "request.tf32: expected a string");
  refuses(changed("dtype", "bf16"), graph, "request.tf32: TF32 needs fp32 on cuda, found bf16 on cuda");
  refuses(changed("device", "cpu"), graph, "request.tf32: TF32 needs fp32 on cuda, found fp32 on cpu");
}

TEST_CASE("plan file: a block holds all frames of its rows", "[unit][plan_file]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.request.frames = 3;
  CHECK(to_json(plan, graph)["kept"][0]["bytes"] == 3 * 2 * 8 * 8 * 8 * 4);
}

TEST_CASE("plan file: the keys that others read", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const json document = to_json(small_plan(graph), graph);
  CHECK(document["schema"] == "headroom.plan");
  CHECK(document["version"] == 4);
  CHECK(document["limit_bytes"] == 28'000);
  CHECK(document["predicted"] == json({{"peak_bytes", 26'000}, {"seconds", 0.3}}));
  CHECK(document["optimal"] == false);
  CHECK(document["exact"] == true);
  CHECK(document["kept"][0]["tensor"] == "conv_in");
  CHECK(document["kept"][0]["tier"] == "device");
  CHECK(document["kept"][0]["bytes"] == 2 * 8 * 8 * 8 * 4);
  CHECK(document["passes"][0]["tiles"]["y"] == json::parse("[[0, 3], [3, 6], [6, 8]]"));
  CHECK(document["passes"][0]["steps"][0]["halo"] ==
        json::parse(R"({"before": [0, 1, 1], "after": [0, 1, 1]})"));
  CHECK(document["passes"][2]["predicted"]["peak_bytes"] == 26'000);
}

TEST_CASE("plan file: the request is read without a model", "[unit][plan_file]") {
  const Graph graph = small_graph();
  json document = to_json(small_plan(graph), graph);
  document["passes"] = "not looked at yet";
  CHECK(read_request(JsonFields(document, "plan.json")) == small_plan(graph).request);
}

TEST_CASE("plan file: other schemas and newer versions are refused by name", "[unit][plan_file]") {
  const Graph graph = small_graph();
  json document = to_json(small_plan(graph), graph);
  document["version"] = 5;
  refuses(document, graph, "version: written by a newer Headroom: version 5");
  document["version"] = 3;
  refuses(document, graph, "version: written by an older Headroom: version 3");
  document["version"] = 0;
  refuses(document, graph, "version: expected an integer");
  document["version"] = 4;
  document["schema"] = "headroom.stats";
  refuses(document, graph, "schema: expected \"headroom.plan\"");
  refuses(json::array(), graph, "expected an object");
  refuses(json::object(), graph, "schema: missing");
}

TEST_CASE("plan file: wrong values are refused by their path", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const json sound = to_json(small_plan(graph), graph);
  const auto refuses_at = [&](const std::string& pointer, const json& value, const std::string& start) {
    json document = sound;
    document[json::json_pointer(pointer)] = value;
    INFO(pointer);
    refuses(document, graph, start);
  };
  refuses_at("/limit_bytes", -1, "limit_bytes: expected an integer");
  refuses_at("/limit_bytes", 1.5, "limit_bytes: expected an integer");
  refuses_at("/limit_bytes", UINT64_MAX, "limit_bytes: expected an integer");
  refuses_at("/weights_bytes", INT64_MAX, "weights_bytes: expected an integer");
  refuses_at("/micro_batch", 3, "micro_batch: expected an integer from 1 to 2");
  refuses_at("/optimal", 1, "optimal: expected true or false");
  refuses_at("/predicted", json::array(), "predicted: expected an object");
  refuses_at("/predicted/seconds", -1, "predicted.seconds: expected a number of at least 0");
  refuses_at("/predicted/seconds", nullptr, "predicted.seconds: expected a number");
  refuses_at("/request/dtype", "int8", "request.dtype: expected fp32, bf16 or fp16");
  refuses_at("/request/width_pixels", 0, "request.width_pixels: expected an integer");
  refuses_at("/request/height_pixels", 1LL << 40, "request.height_pixels: expected an integer");
  refuses_at("/request/model", std::string(5000, 'x'), "request.model: expected a name");
  refuses_at("/kept/0/tier", "moon", "kept[0].tier: expected one of device, host, scratch, found \"moon\"");
  refuses_at("/kept/0/tier", 1, "kept[0].tier: expected a string");
  refuses_at("/weights", "borrowed", "weights: expected one of resident, per_pass, found \"borrowed\"");
  refuses_at("/weights", true, "weights: expected a string");
  refuses_at("/bound_seconds", -0.5, "bound_seconds: expected a number of at least 0");
  refuses_at("/bound_seconds", nullptr, "bound_seconds: expected a number");
  refuses_at("/host_limit_bytes", -1, "host_limit_bytes: expected an integer");
  refuses_at("/host_limit_bytes", 0.5, "host_limit_bytes: expected an integer");
  refuses_at("/host_limit_bytes", INT64_MAX, "host_limit_bytes: expected an integer");
  refuses_at("/scratch", "/scratch", "scratch: expected an object");
  refuses_at("/scratch/limit_bytes", 5, "scratch.folder: missing");
  refuses_at("/scratch/folder", "/scratch", "scratch.limit_bytes: missing");
  refuses_at("/scratch", {{"folder", 3}, {"limit_bytes", 5}}, "scratch.folder: expected a string");
  refuses_at("/scratch", {{"folder", std::string(5000, 'x')}, {"limit_bytes", 5}},
             "scratch.folder: expected a name");
  refuses_at("/scratch", {{"folder", "x"}, {"limit_bytes", -5}}, "scratch.limit_bytes: expected an integer");
  refuses_at("/environment", json::array(), "environment: expected an object");
  refuses_at("/environment/device", "two cores", "environment.libraries: missing");
  refuses_at("/environment", {{"device", "two cores"}, {"libraries", 2}},
             "environment.libraries: expected a string");
  refuses_at("/kept/0/tensor", "nobody\nknows",
             "kept[0].tensor: expected the name of a tensor of this model");
  refuses_at("/kept/1/in_place_of", 7, "kept[1].in_place_of: expected a string");
  refuses_at("/kept/0/block_rows", 0, "kept[0].block_rows: expected an integer");
  refuses_at("/kept/0/last_pass", 1LL << 33, "kept[0].last_pass: expected an integer");
  refuses_at("/kept", json::array_t(100, sound["kept"][0]), "kept: expected at most");
  refuses_at("/passes", json::object(), "passes: expected an array");
  refuses_at("/passes", json::array_t(10'001), "passes: expected at most 10000");
  refuses_at("/passes/0/scale", json::parse("[1, 1]"), "passes[0].scale: expected [t, y, x]");
  refuses_at("/passes/0/scale/1", 0, "passes[0].scale[1]: expected an integer");
  refuses_at("/passes/0/tiles/y", 3, "passes[0].tiles.y: expected an array");
  refuses_at("/passes/0/tiles/y", json::array_t(1'000'001), "passes[0].tiles.y: expected at most 1000000");
  refuses_at("/passes/0/tiles/y/1", json::parse("[1, 2, 3]"), "passes[0].tiles.y[1]: expected at most 2");
  refuses_at("/passes/0/tiles/y/1/0", -3, "passes[0].tiles.y[1][0]: expected an integer");
  refuses_at("/passes/0/steps", json::array_t(10'001), "passes[0].steps: expected at most 10000");
  refuses_at("/passes/0/steps/1/kind", "fold", "passes[0].steps[1].kind: expected one of conv, upsample");
  refuses_at("/passes/0/steps/1/op", "nothing", "passes[0].steps[1].op: expected the name of an operation");
  refuses_at("/passes/0/steps/1/inputs/0/step", -1, "passes[0].steps[1].inputs[0].step: expected an integer");
  refuses_at("/passes/0/steps/1/inputs", json::array_t(9), "passes[0].steps[1].inputs: expected at most 8");
  refuses_at("/passes/0/steps/0/pad/1", 1 << 30, "passes[0].steps[0].pad[1]: expected an integer");
  refuses_at("/passes/0/steps/0/halo/before/1", "one",
             "passes[0].steps[0].halo.before[1]: expected an integer");
}

TEST_CASE("plan file: every missing key is named", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const json sound = to_json(small_plan(graph), graph);
  for (const auto& item : sound.items()) {
    json document = sound;
    document.erase(item.key());
    refuses(document, graph, item.key() + ": missing");
  }
}

TEST_CASE("plan file: a plan of another model names what it lacks", "[unit][plan_file]") {
  const Graph graph = small_graph();
  Graph other;
  other.set_output(other.conv("conv_in", other.add_latent(4), 3, {1, 3, 3}));
  refuses(to_json(small_plan(graph), graph), other,
          "kept[1].tensor: expected the name of a tensor of this model, found \"residual\"");
  const testing::PlanPath file;
  write_plan(file.path, small_plan(graph), graph);
  try {
    read_plan(file.path, other);
    FAIL("a plan of another model was read");
  } catch (const ModelOfPlan& refused) {
    CHECK(refused.model == small_plan(graph).request.model);
    CHECK_THAT(refused.what(), Catch::Contains("--model DIR") && Catch::Contains(refused.model));
  }
}

TEST_CASE("plan file: truncated and missing files name themselves", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const testing::PlanPath file;
  CHECK_THROWS_AS(read_plan(file.path, graph), InputError);
  const std::string text = to_json(small_plan(graph), graph).dump();
  for (size_t length = 0; length < text.size(); length += 97) {
    std::ofstream(file.path, std::ios::binary | std::ios::trunc) << text.substr(0, length);
    CHECK_THROWS_AS(read_plan(file.path, graph), InputError);
  }
  CHECK_THROWS_AS(write_plan(file.path / "below" / "plan.json", small_plan(graph), graph), InputError);
}

}  // namespace
}  // namespace headroom
