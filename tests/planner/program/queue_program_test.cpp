#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/json_fields.h"
#include "decoder/families/load_model.h"
#include "decoder/plan/requests_file.h"
#include "planner/program/run.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::require_refused;
using test::Scratch;
using test::Words;

/// A folder with a config and a request file.
struct Ready {
  Scratch scratch;
  std::string model = scratch.folder().string(), file = scratch / "requests.json",
              output = scratch / "queue.json";
  json good{{"schema", "headroom.requests"},
            {"version", 1},
            {"requests",
             {{{"name", "small"},
               {"width_pixels", 24},
               {"height_pixels", 24},
               {"latent", "a.npy"},
               {"output", "small.png"}},
              {{"name", "large"},
               {"width_pixels", 48},
               {"height_pixels", 40},
               {"batch", 2},
               {"count", 3},
               {"latent", {"b.npy", "/c.npy", "d.safetensors:key"}},
               {"latent_scale", "model"},
               {"output", "large-{i}.npy"}}}}};

  Ready() { scratch.write("config.json", test::tiny_config().dump()); }
  Ended plan(const std::string& text, const std::string& limit = "64MiB", const std::string& to = "") const {
    scratch.write("requests.json", text);
    return call(run_plan,
                {"queue", file, "--model", model, "--limit", limit, "-o", to.empty() ? output : to});
  }
  void refuses(const std::string& pointer, const json& value, const std::vector<std::string>& parts) const {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    CAPTURE(pointer, value.dump().substr(0, 80));
    require_refused(plan(document.dump()), 2, parts);
    CHECK_FALSE(std::filesystem::exists(output));
  }
};

TEST_CASE("a queue is planned into a file of the same schema") {
  const Ready ready;
  const Ended ended = ready.plan(ready.good.dump());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("4 decodes of 2 shapes"));
  const json queue = read_json_file(ready.output, 1 << 26);
  CHECK(queue["schema"] == "headroom.requests");
  CHECK(queue["version"] == 1);
  CHECK(queue["planned"] == true);
  CHECK(queue["model"] == ready.model);
  CHECK(queue["requests"] == ready.good["requests"]);
  CHECK(queue["limit_bytes"] == 64 << 20);
  REQUIRE(queue["order"].size() == 4);
  CHECK(queue["order"][0] == json{{"request", 1}, {"repetition", 0}, {"plan", 0}});
  CHECK(queue["order"][3] == json{{"request", 0}, {"repetition", 0}, {"plan", 1}});
  REQUIRE(queue["plans"].size() == 2);
  CHECK(queue["plans"][0]["schema"] == "headroom.plan");
  CHECK(queue["predicted"]["peak_bytes"] == queue["plans"][0]["predicted"]["peak_bytes"]);

  // A planned queue is a valid input, for example to plan under another limit. The output is another file.
  const std::string second = ready.output + ".second";
  const Ended again = call(run_plan, {"queue", ready.output, "--limit", "32MiB", "-o", second, "--json"});
  REQUIRE(again.code == 0);
  CHECK(json::parse(again.out)["limit_bytes"] == 32 << 20);
  CHECK(json::parse(again.out) == read_json_file(second, 1 << 26));
  require_refused(call(run_plan, {"queue", ready.output, "--limit", "32MiB", "-o", ready.output}), 2,
                  {"-o " + ready.output, "would overwrite"});
}

TEST_CASE("explain and validate take a planned queue, plan by plan") {
  const Ready ready;
  REQUIRE(ready.plan(ready.good.dump()).code == 0);
  const Ended explained = call(run_plan, {"explain", ready.output});
  INFO(explained.err);
  REQUIRE(explained.code == 0);
  CHECK_THAT(explained.out, Catch::Contains("4 decodes of 2 shapes") &&
                                Catch::Contains("\nplan 0, of large (3 times)\n") &&
                                Catch::Contains("\nplan 1, of small\n") &&
                                Catch::Contains(" 48x40, batch 2") && Catch::Contains("longest passes: "));
  const json document = json::parse(call(run_plan, {"explain", ready.output, "--json"}).out);
  CHECK(document["plans"].size() == 2);
  CHECK(document["plans"][0]["passes"].is_array());
  CHECK(document["decodes"] == 4);
  require_refused(call(run_plan, {"explain", ready.output, "--rank", "0"}), 2, {"--rank", "is a queue"});
  require_refused(call(run_plan, {"explain", ready.output, "--analyze", "s.json"}), 2, {"--analyze"});
  require_refused(call(run_plan, {"explain", ready.output, "--schedule"}), 2, {"--schedule", "is a queue"});
  require_refused(call(run_plan, {"explain", ready.file, "--model", ready.model}), 2, {"not planned"});

  CHECK(call(run_plan, {"validate", ready.output}).code == 0);
  json broken = read_json_file(ready.output, 1 << 26);
  broken["plans"][1]["predicted"]["peak_bytes"] = 1;
  const std::string file = ready.scratch.write("broken.json", broken.dump()).string();
  require_refused(call(run_plan, {"validate", file}), 2, {"broken.json", "plans[1]: "});
  require_refused(call(run_plan, {"explain", file}), 2, {"broken.json: plans[1]"});
}

TEST_CASE("a planned queue finds its model from its folder, or says how to name it") {
  const Ready ready;
  REQUIRE(ready.plan(ready.good.dump()).code == 0);
  json document = read_json_file(ready.output, 1 << 26);
  for (const char* folder : {"models/vae", "queues", "other"})
    std::filesystem::create_directories(ready.scratch / folder);
  ready.scratch.write("models/vae/config.json", test::tiny_config().dump());
  document["model"] = "models/vae";
  const std::string file = ready.scratch.write("queues/queue.json", document.dump()).string();
  for (const char* command : {"explain", "validate"}) CHECK(call(run_plan, {command, file}).code == 0);
  document["model"] = "nowhere/vae";
  ready.scratch.write("queues/queue.json", document.dump());
  json other = test::tiny_config();
  other["block_out_channels"] = {8, 16, 16, 16};
  other["up_block_types"] = json::array_t(4, "UpDecoderBlock2D");
  ready.scratch.write("other/config.json", other.dump());
  for (const char* command : {"explain", "validate"}) {
    CAPTURE(command);
    require_refused(call(run_plan, {command, file}), 2,
                    {"queue.json: its model \"nowhere/vae\"", "--model DIR"});
    require_refused(call(run_plan, {command, file, "--model", (ready.scratch / "other").string()}), 2,
                    {"queue.json: ", "the plan is for the model \"nowhere/vae\"", "--model DIR"});
    CHECK(call(run_plan, {command, file, "--model", (ready.scratch / "models/vae").string()}).code == 0);
  }
}

TEST_CASE("a queue has one device, which its file, a request or --device names") {
  const Ready ready;
  json named = ready.good;
  named["device"] = "cuda";
  REQUIRE(ready.plan(named.dump()).code == 0);
  json queue = read_json_file(ready.output, 1 << 26);
  CHECK(queue["device"] == "cuda");
  for (const json& plan : queue["plans"]) CHECK(plan["request"]["device"] == "cuda");
  // Replanning keeps the device. --device overrides it.
  const std::string second = ready.output + ".second";
  REQUIRE(call(run_plan, {"queue", ready.output, "--limit", "48MiB", "-o", second}).code == 0);
  CHECK(read_json_file(second, 1 << 26)["device"] == "cuda");
  const Words again{"queue", ready.output, "--limit", "48MiB", "-o", second, "--device", "cpu"};
  REQUIRE(call(run_plan, again).code == 0);
  queue = read_json_file(second, 1 << 26);
  CHECK_FALSE(queue.contains("device"));
  for (const json& plan : queue["plans"]) CHECK(plan["request"]["device"] == "cpu");

  json entry = ready.good;
  entry["requests"][1]["device"] = "cuda";
  REQUIRE(ready.plan(entry.dump()).code == 0);
  CHECK(read_json_file(ready.output, 1 << 26)["device"] == "cuda");
  require_refused(ready.plan(entry.dump(), "auto"), 2, {"--limit auto"});
  std::filesystem::remove(ready.output);
  entry["requests"][0]["device"] = "cpu";
  require_refused(ready.plan(entry.dump()), 2,
                  {"requests.json: requests[1].device: expected cpu", "one device for all"});
  ready.refuses("/device", "gpu", {"requests.json: device: expected cpu or cuda, found \"gpu\""});
  ready.refuses("/device", 3, {"requests.json: device: "});

  // All plans of a file have the file's device.
  json mixed = queue;
  mixed["plans"][1]["request"]["device"] = "cuda";
  const Model model = resolve_model(ready.model);
  test::require_input_error([&] { planned_queue_from_json(JsonFields(mixed, "queue.json"), model.graph); },
                            {"queue.json: plans[1].request: expected the queue's own device, found cuda"});
}

TEST_CASE("all plans of a queue have the TF32 that its file or --tf32 names") {
  const Ready ready;
  json named = ready.good;
  named["device"] = "cuda";
  named["tf32"] = "convolutions";
  REQUIRE(ready.plan(named.dump()).code == 0);
  json queue = read_json_file(ready.output, 1 << 26);
  CHECK(queue["tf32"] == "convolutions");
  for (const json& plan : queue["plans"]) CHECK(plan["request"]["tf32"] == "convolutions");
  const std::string second = ready.output + ".second";
  REQUIRE(call(run_plan, {"queue", ready.output, "--limit", "48MiB", "-o", second, "--tf32"}).code == 0);
  CHECK(read_json_file(second, 1 << 26)["tf32"] == "all");
  std::filesystem::remove(ready.output);
  ready.refuses("/tf32", "convolutions", {"TF32 needs fp32 on cuda, found fp32 on cpu"});
  ready.refuses("/tf32", 1, {"requests.json: tf32: expected a string"});

  const Model model = resolve_model(ready.model);
  queue["plans"][1]["request"].erase("tf32");
  test::require_input_error([&] { planned_queue_from_json(JsonFields(queue, "queue.json"), model.graph); },
                            {"queue.json: plans[1].request: tf32: expected the queue's own"});
}

TEST_CASE("a queue written to another folder finds its latents from there") {
  const Ready ready;
  std::filesystem::create_directories(ready.scratch / "below/deep");
  REQUIRE(ready.plan(ready.good.dump(), "64MiB", ready.scratch / "below/deep/queue.json").code == 0);
  const json queue = read_json_file(ready.scratch / "below/deep/queue.json", 1 << 26);
  CHECK(queue["requests"][0]["latent"] == "../../a.npy");
  CHECK(queue["requests"][1]["latent"] == json{"../../b.npy", "/c.npy", "../../d.safetensors:key"});
  CHECK(queue["requests"][0]["output"] == "small.png");
}

TEST_CASE("a queue that does not fit ends with 3, the request and the smallest limit") {
  const Ready ready;
  require_refused(ready.plan(ready.good.dump(), "1KiB"), 3,
                  {"requests.json: requests[1] (\"large\"): ", "smallest limit that works"});
  CHECK_FALSE(std::filesystem::exists(ready.output));
}

TEST_CASE("hostile requests are refused with 2, by key") {
  const Ready ready;
  ready.refuses("/schema", "headroom.plan", {"requests.json: schema"});
  ready.refuses("/version", 2, {"requests.json: version", "newer"});
  ready.refuses("/requests", json::object(), {"requests.json: requests: expected an array"});
  ready.refuses("/requests", json::array(), {"requests.json: requests", "at least one"});
  ready.refuses("/requests/1", 7, {"requests.json: requests[1]"});
  ready.refuses("/requests/1/name", "", {"requests.json: requests[1].name"});
  ready.refuses("/requests/1/name", std::string(100'000, 'x'), {"requests[1].name"});
  ready.refuses("/requests/1/width_pixels", "wide", {"requests[1].width_pixels"});
  ready.refuses("/requests/1/width_pixels", 0, {"requests[1].width_pixels"});
  ready.refuses("/requests/1/width_pixels", 47, {"requests[1] (\"large\")", "47"});
  ready.refuses("/requests/1/height_pixels", int64_t{1} << 60, {"requests[1].height_pixels"});
  ready.refuses("/requests/1/frames", 2, {"requests[1] (\"large\")", "frames"});
  ready.refuses("/requests/1/batch", int64_t{1'000'000'000'000}, {"requests[1].batch"});
  ready.refuses("/requests/1/count", int64_t{1'000'000'000'000}, {"requests[1].count"});
  ready.refuses("/requests/1/count", UINT64_MAX, {"requests[1].count"});
  ready.refuses("/requests/1/count", 2.5, {"requests[1].count"});
  ready.refuses("/requests/1/count", 2, {"requests[1].latent", "each of the 2 repetitions"});
  ready.refuses("/requests/1/latent", json::array(), {"requests[1].latent"});
  ready.refuses("/requests/1/latent/2", 3, {"requests[1].latent[2]"});
  ready.refuses("/requests/1/latent/2", "", {"requests[1].latent[2]"});
  ready.refuses("/requests/1/latent_scale", "twice", {"requests[1].latent_scale"});
  ready.refuses("/requests/1/output", false, {"requests[1].output"});
  ready.refuses("/dtype", "int8", {"requests.json: dtype"});
  ready.refuses("/model", 5, {"requests.json: model"});
  require_refused(ready.plan(std::string(1 << 20, '[')), 2, {"requests.json: nested deeper"});
  require_refused(ready.plan("{\"schema\":"), 2, {"requests.json: not valid JSON"});
  require_refused(call(run_plan, {"queue", ready.file, "--limit", "1GiB", "-o", ready.output}), 2,
                  {"requests.json"});
  json nameless = ready.good;
  require_refused(call(run_plan, {"queue", ready.scratch.write("r.json", nameless.dump()), "--limit", "1GiB",
                                  "-o", ready.output}),
                  2, {"r.json: model"});
  require_refused(
      call(run_plan, {"queue", ready.scratch / "none.json", "--limit", "1GiB", "-o", ready.output}), 2,
      {"none.json: no such file"});
}

TEST_CASE("keys that nobody knows are refused in requests, where people write them") {
  const Ready ready;
  ready.refuses("/requests/0/latents", "a.npy",
                {"requests.json: requests[0]: unknown key \"latents\"; did you mean \"latent\"?"});
  ready.refuses("/requests/1/widht_pixels", 48,
                {"requests[1]: unknown key \"widht_pixels\"", "\"width_pixels\"?"});
  ready.refuses("/limit", "8MiB", {"requests.json: unknown key \"limit\""});
  // A program wrote the planned queue, perhaps in a newer version.
  REQUIRE(ready.plan(ready.good.dump()).code == 0);
  json planned = read_json_file(ready.output, 1 << 26);
  planned["later"] = planned["requests"][0]["later"] = 1;
  ready.scratch.write("planned.json", planned.dump());
  CHECK(call(run_plan, {"validate", ready.scratch / "planned.json", "--model", ready.model}).code == 0);
}

TEST_CASE("outputs that would be written twice are refused") {
  const Ready ready;
  ready.refuses("/requests/1/output", "large.npy", {"requests[1].output", "large.npy", "{i}"});
  ready.refuses("/requests/0/output", "./large-1.npy", {"requests[1].output", "large-1.npy"});
  ready.refuses("/requests/0/output", "x/../large-2.npy", {"requests[1].output", "large-2.npy"});
  json pngs = ready.good;  // a batch writes several files
  pngs["requests"][1]["output"] = "large-{i}.png";
  pngs["requests"][0]["output"] = "large-2-1.png";
  require_refused(ready.plan(pngs.dump()), 2, {"requests[1].output", "large-2-1.png"});
  pngs["requests"][0]["output"] = "large-2-2.png";
  CHECK(ready.plan(pngs.dump()).code == 0);
}

TEST_CASE("more pictures or shapes than the bounds are refused before anything is planned") {
  const Ready ready;
  json many = ready.good;
  many["requests"][1]["latent"] = "b.npy";
  many["requests"][1]["count"] = kMostPictures / 2;
  require_refused(ready.plan(many.dump()), 2, {"requests[1]", "at most 100000 pictures"});
  json shapes = ready.good;
  shapes["requests"] = json::array();
  for (int64_t i = 0; i <= kMostShapes; ++i) {
    shapes["requests"].push_back({{"name", "s"}, {"width_pixels", 2 * (i + 1)}, {"height_pixels", 2}});
  }
  require_refused(ready.plan(shapes.dump()), 2, {"requests[1000]", "at most 1000 distinct shapes"});
}

TEST_CASE("a planned queue that contradicts itself is refused by key") {
  const Ready ready;
  REQUIRE(ready.plan(ready.good.dump()).code == 0);
  const Model model = resolve_model(ready.model);
  const json good = read_json_file(ready.output, 1 << 26);
  const auto refuses = [&](const std::string& pointer, const json& value, const std::string& start) {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    CAPTURE(pointer);
    test::require_input_error(
        [&] { planned_queue_from_json(JsonFields(document, "queue.json"), model.graph); },
        {"queue.json: " + start});
  };
  CHECK(planned_queue_from_json(JsonFields(good, "queue.json"), model.graph).order.size() == 4);
  refuses("/planned", false, "the requests are not planned yet");
  refuses("/order/0/request", 2, "order[0].request");
  refuses("/order/0/request", -1, "order[0].request");
  refuses("/order/0/repetition", 3, "order[0].repetition");
  refuses("/order/0/repetition", 1, "order[1]: the decode was listed before");
  refuses("/order/0/plan", 2, "order[0].plan");
  refuses("/order/0/plan", 1, "order[0].plan: expected a plan for the shape of requests[1]");
  refuses("/order/3", good["order"][0], "order[3]: the decode was listed before");
  refuses("/plans", json::array(), "plans: expected at least one");
  refuses("/plans/1/limit_bytes", 5, "plans[1].limit_bytes");
  refuses("/plans/1/passes/0/steps/0/kind", "launch", "plans[1].passes[0].steps[0].kind");
  refuses("/limit_bytes", "all", "limit_bytes");
  json fewer = good["order"];
  fewer.erase(2);
  refuses("/order", fewer, "order: expected all 4 decodes, found 3");
  json plans = good["plans"];
  plans.push_back(plans[0]);
  refuses("/plans", plans, "plans[2]: no decode uses it");
}

}  // namespace
}  // namespace headroom::planner
