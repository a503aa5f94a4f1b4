#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/families/load_model.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/stats_file.h"
#include "planner/search/make_plan.h"
#include "profiler/profile/profile_file.h"
#include "reports/figures/document.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::require_input_error;
using test::Scratch;

std::string with_folder(const std::filesystem::path& folder, const std::string& config = {}) {
  std::filesystem::create_directories(folder);
  write_file_whole(folder / "config.json", config.empty() ? test::tiny_config().dump() : config);
  return folder.string();
}

Plan tiny_plan(const Model& model, const std::string& name) {
  Request request = test::request_for(model, {1, 12, 10});
  request.model = name;
  planner::PlanOptions options;
  options.limit_bytes = int64_t{64} << 20;
  return planner::make_plan({model, request, options, planner::CostModel(model.graph)}).value();
}

json frontier_json() {
  const Model model = test::model_of(test::tiny_config());
  const std::vector<planner::FrontierPoint> points{
      {3000, 1.0 / 3, {1, WeightResidency::resident, {}, 0}},
      {2000, 0.5, {2, WeightResidency::per_pass, MemoryTier::scratch, 0}},
      {1000, 2, {2, WeightResidency::per_pass, MemoryTier::host, 0}}};
  return to_json(points, test::request_for(model, {1, 12, 10}, 2), true);
}

TEST_CASE("a plan by a profile tells within what its seconds are") {
  const Scratch scratch;
  const std::string folder = with_folder(scratch / "vae");
  const Model model = load_model(scratch / "vae" / "config.json");
  Plan plan = tiny_plan(model, folder);
  plan.assumed = false;
  plan.predicted_seconds_low = 0.875 * plan.predicted_seconds;
  plan.predicted_seconds_high = 1.25 * plan.predicted_seconds;
  write_plan(scratch / "plan.json", plan, model.graph);
  CHECK_THAT(summary(*read_document(scratch / "plan.json")),
             Catch::EndsWith(format_seconds(plan.predicted_seconds) + " (" +
                             format_seconds(plan.predicted_seconds_low) + " to " +
                             format_seconds(plan.predicted_seconds_high) + ")"));
}

TEST_CASE("a plan is read with the model that it names") {
  const Scratch scratch;
  const std::string folder = with_folder(scratch / "vae");
  const Model model = load_model(scratch / "vae" / "config.json");
  const Plan plan = tiny_plan(model, folder);
  write_plan(scratch / "plan.json", plan, model.graph);
  const DocumentPtr document = read_document(scratch / "plan.json");
  REQUIRE(document->as<PlanDocument>() != nullptr);
  CHECK(document->as<PlanDocument>()->plan == plan);
  CHECK(document->as<PlanDocument>()->model.name == "vae");
  CHECK(document->as<RunStats>() == nullptr);
  CHECK(document->file == scratch / "plan.json");
  CHECK(std::string(kind_of(*document)) == "plan");
  CHECK_THAT(summary(*document),
             Catch::EndsWith("by assumed costs") && Catch::Contains("vae 20x24 fp32, limit 64.0 MiB"));
}

TEST_CASE("a model's title is its name, or of a path the last folder") {
  for (const auto& [model, title] :
       std::vector<std::pair<std::string, std::string>>{{"sdxl", "sdxl"},
                                                        {"tests/data/demo_model", "demo_model"},
                                                        {"tests/data/demo_model/", "demo_model"},
                                                        {"/models/flux/vae", "flux/vae"},
                                                        {"/vae", "vae"},
                                                        {"", ""},
                                                        {"a/b\nc", "b?c"}}) {
    CAPTURE(model);
    CHECK(model_title(model) == title);
  }
}

TEST_CASE("a plan's model is looked for from its folder and those above it") {
  const Scratch scratch;
  with_folder(scratch / "models" / "vae");
  const Model model = load_model(scratch / "models" / "vae" / "config.json");
  const std::filesystem::path near = scratch / "a/b", far = scratch / "a/b/c/d/e/f", too_far = far / "g";
  std::filesystem::create_directories(too_far);
  for (const std::filesystem::path& folder : {scratch.folder(), near, far, too_far})
    write_plan(folder / "plan.json", tiny_plan(model, "models/vae"), model.graph);
  for (const std::filesystem::path& folder : {scratch.folder(), near, far})
    CHECK(read_document(folder / "plan.json")->as<PlanDocument>() != nullptr);
  require_input_error([&] { read_document(too_far / "plan.json"); },
                      {"plan.json: its model \"models/vae\"", "--model DIR"});
  CHECK(read_document(too_far / "plan.json", (scratch / "models/vae").string())->as<PlanDocument>() !=
        nullptr);
  require_input_error([&] { read_document(near / "plan.json", "no such model"); }, {"--model no such model"});

  // The nearest wins; one without a config is none; no name is no folder of its own.
  with_folder(near / "models/vae", test::tiny_config({8, 8}).dump());
  require_input_error([&] { read_document(near / "plan.json"); }, {"plan.json: "});
  std::filesystem::remove(near / "models/vae/config.json");
  CHECK(read_document(near / "plan.json")->as<PlanDocument>() != nullptr);
  with_folder(near);
  write_plan(near / "plan.json", tiny_plan(model, ""), model.graph);
  require_input_error([&] { read_document(near / "plan.json"); }, {"its model \"\""});
  write_plan(near / "plan.json", tiny_plan(model, "a\nmodel"), model.graph);
  require_input_error([&] { read_document(near / "plan.json"); }, {"its model \"a\\nmodel\""});
}

TEST_CASE("a plan that does not decode is refused") {
  const Scratch scratch;
  const std::string folder = with_folder(scratch / "vae");
  const Model model = load_model(scratch / "vae" / "config.json");
  Plan plan = tiny_plan(model, folder);
  plan.passes[0].tiles.y.clear();
  write_plan(scratch / "plan.json", plan, model.graph);
  require_input_error([&] { read_document(scratch / "plan.json"); }, {"plan.json: passes[0].tiles.y"});
}

TEST_CASE("statistics, profiles, traces and frontiers are told apart by their schema") {
  const Scratch scratch;
  RunStats stats;
  stats.limit_bytes = std::numeric_limits<int64_t>::max();
  stats.peak_bytes = 5 << 20;
  stats.seconds = 1.5;
  stats.device = "two\ncores";
  stats.passes.resize(2);
  write_stats(scratch / "stats.json", stats);
  const DocumentPtr run = read_document(scratch / "stats.json");
  REQUIRE(run->as<RunStats>() != nullptr);
  CHECK(*run->as<RunStats>() == stats);
  CHECK(summary(*run) == "2 passes, no limit, peak 5.0 MiB, 1.50 s, two?cores");
  stats.passes.clear();
  stats.queue = QueueStats{{DecodeStats{}}, 0, 1, 0, 0};
  write_stats(scratch / "stats.json", stats);
  CHECK_THAT(summary(*read_document(scratch / "stats.json")), Catch::StartsWith("1 decode, "));

  profiler::Profile profile;
  profile.model = "sdxl";
  profile.device = "a processor";
  profile.threads = 2;
  profile.weights_source = "files";
  profile.sizes.resize(5);
  for (size_t i = 0; i < 5; ++i) profile.sizes[i].width_pixels = profile.sizes[i].height_pixels = 256 << i;
  write_file_whole(scratch / "profile.json", to_json(profile).dump());
  const DocumentPtr profiled = read_document(scratch / "profile.json");
  REQUIRE(profiled->as<profiler::Profile>() != nullptr);
  CHECK(*profiled->as<profiler::Profile>() == profile);
  CHECK(summary(*profiled) == "sdxl fp32, 256x256, 512x512, 1024x1024 and 2 more, a processor");

  const Model model = test::model_of(test::tiny_config());
  Trace trace;
  trace.model = "sdxl";
  trace.device = "a processor";
  trace.request = {"sdxl", 256, 256, 1, 1, Dtype::fp32};
  trace.seconds = 2;
  trace.limit_bytes = 1 << 20;
  trace.events = {{0.5, 64, -1, -1, TensorId{-1}, MemoryKind::weights}};
  write_trace(scratch / "trace.json", trace, Plan{}, model.graph);
  const DocumentPtr traced = read_document(scratch / "trace.json");
  REQUIRE(traced->as<RecordedTrace>() != nullptr);
  CHECK(traced->as<RecordedTrace>()->trace.events == trace.events);
  CHECK(summary(*traced) == "sdxl, limit 1.0 MiB, 2.00 s, 1 event, a processor");

  write_file_whole(scratch / "frontier.json", frontier_json().dump(1));
  const DocumentPtr frontier = read_document(scratch / "frontier.json");
  REQUIRE(frontier->as<FrontierDocument>() != nullptr);
  CHECK_THAT(summary(*frontier),
             Catch::Contains("20x24 fp32, batch 2, 3 plans, from 2.9 KiB and 333.3 ms to") &&
                 Catch::EndsWith("by assumed costs"));
  for (const DocumentPtr& document : {run, profiled, traced, frontier}) {
    CHECK(document->file.stem() == kind_of(*document));
    CHECK(summary(*document).find('\n') == std::string::npos);
  }
}

TEST_CASE("the schema is found wherever it stands") {
  const Scratch scratch;
  const auto kind = [&](const std::string& text) {
    write_file_whole(scratch / "file.json", text);
    return std::string(kind_of(*read_document(scratch / "file.json")));
  };
  const std::string text = frontier_json().dump(), inside = text.substr(1, text.size() - 2);
  CHECK(kind("{" + inside + "}") == "frontier");
  CHECK(kind("{\"a\": {\"schema\": \"headroom.plan\"}, \"schema\" : \"headroom.frontier\"," + inside + "}") ==
        "frontier");
  CHECK(kind("{\"a\": [\"schema\", {\"schema\": \"}\"}], \"b\": \"\\\"schema\\\": {\", \"c\\\\\": 1," +
             inside + "}") == "frontier");
  // Beyond the first block that is looked at, and in letters that only a parser reads.
  CHECK(kind("{\"a\": \"" + std::string(300'000, 'x') + "\"," + inside + "}") == "frontier");
  json without = frontier_json();
  without.erase("schema");
  const std::string rest = without.dump().substr(1);
  CHECK(kind("{\"sch\\u0065ma\": \"headroom.frontier\"," + rest) == "frontier");
}

TEST_CASE("what is none of Headroom's files is refused in one line") {
  const Scratch scratch;
  const auto refuses = [&](const std::string& text, const std::vector<std::string>& parts) {
    scratch.write("file.json", text);
    require_input_error([&] { read_document(scratch / "file.json"); }, parts);
  };
  refuses(R"({"schema": "headroom.requests", "version": 1})",
          {"file.json: schema: queues", "not shown here"});
  refuses(R"({"schema": "headroom.what"})",
          {"file.json: schema: expected headroom.plan, headroom.stats, headroom.trace, headroom.profile, "
           "headroom.recording or headroom.frontier, found \"headroom.what\""});
  refuses("{\"schema\": \"two\\nlines" + std::string(1000, 'x') + "\"}", {"file.json: schema: expected"});
  refuses("{\"schema\": \"\x01\xff\"}", {"file.json: "});
  refuses(R"({"schema": 5, "version": 1})", {"file.json: schema: expected a string"});
  refuses(R"({"version": 5})", {"file.json: this seems to be JSON of another program"});
  refuses("[1, 2]", {"file.json: this is no JSON object"});
  refuses("", {"file.json: this is no JSON object"});
  refuses("GIF89a", {"file.json: this is no JSON object", "PyTorch's memory snapshots"});
  refuses(R"({"schema": )" + std::string(300'000, '['), {"file.json: nested deeper than 64 levels"});
  // 128 bytes of header: the first byte is that of a pickle.
  refuses(test::safetensors_bytes("{\"a\": 1}" + std::string(119, ' '), ""), {"no JSON object"});
  for (const char* kind : {"plan", "stats", "trace", "profile", "frontier"}) {
    const std::string schema = std::string(R"("schema": "headroom.)") + kind + "\"";
    refuses("{" + schema + "}", {"file.json: version: missing"});
    refuses("{" + schema + R"(, "version": 99})", {"file.json: version: written by a newer Headroom"});
    refuses("{" + schema, {"file.json: not valid JSON"});
    refuses("{" + schema + ", \"a\": " + std::string(100'000, '['),
            {"file.json: nested deeper than 64 levels"});
  }
  require_input_error([&] { read_document(scratch / "none.json"); }, {"none.json: no such file"});
  require_input_error([&] { read_document(scratch.folder()); }, {": this is a folder"});
  // A sparse file of the size that no kind may have.
  scratch.write("large.json", R"({"schema": "headroom.trace"})");
  std::filesystem::resize_file(scratch / "large.json", (uint64_t{512} << 20) + 1);
  require_input_error([&] { read_document(scratch / "large.json"); }, {"large.json: larger than"});
  scratch.write("stats.json", R"({"schema": "headroom.stats"})");
  std::filesystem::resize_file(scratch / "stats.json", (uint64_t{64} << 20) + 1);
  require_input_error([&] { read_document(scratch / "stats.json"); },
                      {"stats.json: larger than the 67108864"});
}

FrontierDocument frontier_from(const json& document) {
  return frontier_from_json(document, "frontier.json");
}

TEST_CASE("a frontier comes back as it was") {
  const FrontierDocument frontier = frontier_from(frontier_json());
  CHECK(frontier.assumed);
  CHECK(frontier.request.width_pixels == 20);
  CHECK(frontier.request.batch == 2);
  REQUIRE(frontier.points.size() == 3);
  CHECK(frontier.points[0].seconds == 1.0 / 3);
  CHECK_FALSE(frontier.points[0].configuration.lower_tier);
  CHECK(frontier.points[1].configuration.lower_tier == MemoryTier::scratch);
  CHECK(frontier.points[2].configuration.lower_tier == MemoryTier::host);
  CHECK(frontier.points[2].configuration.weights == WeightResidency::per_pass);
  CHECK(frontier.points[2].configuration.micro_batch == 2);
  CHECK(to_json(frontier.points, frontier.request, frontier.assumed) == frontier_json());
}

TEST_CASE("a frontier's wrong values are refused by their path") {
  const auto refuses = [&](const std::string& pointer, const json& value, const std::string& start) {
    json document = frontier_json();
    document[json::json_pointer(pointer)] = value;
    CAPTURE(pointer, value.dump());
    CHECK_THROWS_WITH(frontier_from(document), Catch::StartsWith("frontier.json: " + start));
    CHECK_THROWS_AS(frontier_from(document), InputError);
  };
  refuses("/schema", "headroom.plan", "schema: expected \"headroom.frontier\"");
  refuses("/version", 3, "version: written by a newer Headroom: version 3");
  refuses("/version", 1, "version: written by an older Headroom: version 1");
  refuses("/assumed", 1, "assumed: expected true or false");
  refuses("/request", 1, "request: expected an object");
  refuses("/request/dtype", "fp8", "request.dtype: expected fp32, bf16 or fp16");
  refuses("/request/width_pixels", 0, "request.width_pixels: expected an integer from 1");
  refuses("/points", json::object(), "points: expected an array");
  refuses("/points/1", 5, "points[1]: expected an object");
  refuses("/points/1/peak_bytes", 3000, "points[1].peak_bytes: expected an integer from 0 to 2999");
  refuses("/points/1/peak_bytes", UINT64_MAX, "points[1].peak_bytes: expected an integer");
  refuses("/points/1/peak_bytes", -1, "points[1].peak_bytes: expected an integer");
  refuses("/points/1/seconds", 0.25, "points[1].seconds: expected at least 0.333");
  refuses("/points/0/seconds", -1, "points[0].seconds: expected at least 0");
  refuses("/points/1/seconds", nullptr, "points[1].seconds: expected a number");
  refuses("/points/1/weights", "some", "points[1].weights: expected resident or per_pass, found \"some\"");
  refuses("/points/1/micro_batch", 3, "points[1].micro_batch: expected an integer from 1 to 2");
  refuses("/points/1/lower_tier", "device", "points[1].lower_tier: expected none, host or scratch");
  const json document = frontier_json();
  for (const char* key : {"request", "assumed", "points"}) {
    json less = document;
    less.erase(key);
    CHECK_THROWS_WITH(frontier_from(less),
                      Catch::StartsWith("frontier.json: " + std::string(key) + ": missing"));
  }
  for (const auto& item : document["points"][0].items()) {
    json less = document;
    less["points"][2].erase(item.key());
    CHECK_THROWS_WITH(frontier_from(less),
                      Catch::StartsWith("frontier.json: points[2]." + item.key() + ": missing"));
  }
}

DecodeIdentity of_sdxl() {
  return {{"sdxl", 1024, 768, 1, 2, Dtype::fp32}, int64_t{1} << 30, {"conv_in", "mid", "conv_out"}};
}

TEST_CASE("same decode: whatever both tell and tell differently makes them two") {
  const DecodeIdentity plan = of_sdxl();
  CHECK(of_one_decode(plan, of_sdxl()));
  const std::vector<std::pair<const char*, std::function<void(DecodeIdentity&)>>> changes{
      {"model", [](DecodeIdentity& run) { run.request.model = "sd15"; }},
      {"width", [](DecodeIdentity& run) { run.request.width_pixels = 512; }},
      {"height", [](DecodeIdentity& run) { run.request.height_pixels = 512; }},
      {"frames", [](DecodeIdentity& run) { run.request.frames = 9; }},
      {"batch", [](DecodeIdentity& run) { run.request.batch = 1; }},
      {"dtype", [](DecodeIdentity& run) { run.request.dtype = Dtype::bf16; }},
      {"device", [](DecodeIdentity& run) { run.request.device = DeviceKind::cuda; }},
      {"limit", [](DecodeIdentity& run) { run.limit_bytes -= 1; }},
      {"a pass", [](DecodeIdentity& run) { run.passes[1] = "up0"; }},
      {"passes", [](DecodeIdentity& run) { run.passes.pop_back(); }}};
  for (const auto& [what, change] : changes) {
    CAPTURE(what);
    DecodeIdentity run = of_sdxl();
    change(run);
    CHECK_FALSE(of_one_decode(plan, run));
    CHECK_FALSE(of_one_decode(run, plan));
  }
}

TEST_CASE("same decode: what one does not tell is no contradiction") {
  const DecodeIdentity plan = of_sdxl();
  // A folder may be named from elsewhere, with a slash or without.
  for (const char* model : {"models/sdxl", "/data/sdxl/", "sdxl"}) {
    CAPTURE(model);
    DecodeIdentity run = of_sdxl();
    run.request.model = model;
    CHECK(of_one_decode(plan, run));
  }
  // A pass that nothing was recorded of.
  DecodeIdentity cut = of_sdxl();
  cut.passes[2].clear();
  CHECK(of_one_decode(plan, cut));
}

TEST_CASE("same decode: in words") {
  CHECK(text_of(of_sdxl()) == "sdxl 1024x768 fp32, batch 2, limit 1024.0 MiB, 3 passes");
}

}  // namespace
}  // namespace headroom::reports
