#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "decoder/base/json_fields.h"
#include "decoder/files/latent_file.h"
#include "decoder/plan/stats_file.h"
#include "planner/decode_program/run.h"
#include "planner/program/run.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr const char* kModel = HEADROOM_TEST_DATA "/demo_model";

/// Requests of several sizes with counts and a batch, their latents, and the queue that is planned of them.
struct ReadyQueue {
  Scratch scratch;
  std::string requests_file = scratch / "requests.json", queue_file = scratch / "queue.json",
              stats_file = scratch / "stats.json";
  json requests = json::array();
  json queue;

  ReadyQueue() {
    add("a", 64, 64, 1, 2);
    add("b", 128, 96, 1, 1);
    add("c", 64, 96, 2, 1);
    add("d", 64, 64, 1, 1);
    add("e", 96, 64, 1, 3);
    plan();
  }
  void add(const std::string& name, int64_t width, int64_t height, int64_t batch, int64_t count) {
    json request{
        {"name", name}, {"width_pixels", width}, {"height_pixels", height}, {"output", name + "-{i}.npy"}};
    if (count == 1) request["output"] = name + ".npy";
    if (batch > 1) request["batch"] = batch;
    if (count > 1) request["count"] = count;
    request["latent"] = json::array();
    for (int64_t i = 0; i < count; ++i) {
      const std::string file = "latent-" + name + std::to_string(i) + ".npy";
      test::write_npy(scratch / file, random_latent({batch, 4, height / 8, width / 8},
                                                    10 * requests.size() + static_cast<uint64_t>(i)));
      request["latent"].push_back(file);
    }
    if (count == 1) request["latent"] = request["latent"][0];
    requests.push_back(request);
  }
  void plan(const std::string& limit = "48MiB") {
    scratch.write("requests.json",
                  json{{"schema", "headroom.requests"}, {"version", 1}, {"requests", requests}}.dump());
    const Ended planned = call(
        planner::run_plan, {"queue", requests_file, "--model", kModel, "--limit", limit, "-o", queue_file});
    INFO(planned.err);
    REQUIRE(planned.code == 0);
    queue = read_json_file(queue_file, 1 << 28);
  }
  void write(const json& changed) const { scratch.write("queue.json", changed.dump()); }
  Ended decode(const Words& more = {}, const char* latent_scale = "none") const {
    return call(run_decode, joined({"--queue", queue_file, "--model", kModel, "--latent-scale", latent_scale,
                                    "--stats", stats_file, "--threads", "2"},
                                   more));
  }
  RunStats decoded(const Words& more = {}) const {
    const Ended ended = decode(more);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return read_stats(stats_file);
  }
  /// The bytes of all outputs by name.
  std::map<std::string, std::string> outputs(const std::string& folder) const {
    std::map<std::string, std::string> bytes;
    for (const char* name : {"a-0", "a-1", "b", "c", "d", "e-0", "e-1", "e-2"}) {
      bytes[name] = test::read_bytes(scratch / (folder + "/" + name + ".npy"));
      CHECK(bytes[name].size() > 1000);
    }
    return bytes;
  }
};

TEST_CASE("each result of a queue equals a run of the same plan by itself, bit for bit") {
  const ReadyQueue ready;
  const RunStats stats = ready.decoded();
  REQUIRE(ready.queue["order"].size() == 8);
  for (const json& decode : ready.queue["order"]) {
    const json& request = ready.queue["requests"][decode["request"].get<size_t>()];
    const bool several = request.value("count", 1) > 1;
    const std::string repetition = std::to_string(decode["repetition"].get<int>());
    const std::string name = request["name"].get<std::string>() + (several ? "-" + repetition : "");
    const std::string latent =
        several ? request["latent"][decode["repetition"].get<size_t>()] : request["latent"];
    const std::string plan =
        ready.scratch.write("plan.json", ready.queue["plans"][decode["plan"].get<size_t>()].dump());
    const std::string alone = ready.scratch / "alone.npy";
    const Ended ended =
        call(run_decode, {"--plan", plan, "--model", kModel, "--latent", ready.scratch / latent,
                          "--latent-scale", "none", "-o", alone, "--threads", "2"});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    CAPTURE(name);
    CHECK(test::read_bytes(ready.scratch / (name + ".npy")) == test::read_bytes(alone));
  }
  CHECK(read_latent(ready.scratch / "c.npy").shape == std::vector<int64_t>{2, 3, 96, 64});

  CHECK(stats.limit_bytes == 48 * kMiB);
  CHECK(stats.predicted_peak_bytes == ready.queue["predicted"]["peak_bytes"]);
  CHECK(stats.passes.empty());
  REQUIRE(stats.queue.has_value());
  CHECK(stats.queue->pool_allocations == 1);
  CHECK(stats.queue->pool_growth_bytes == 0);
  CHECK(stats.queue->outside_growth_after_warmup_bytes <= 16 * kMiB);
  REQUIRE(stats.queue->decodes.size() == 8);
  for (const DecodeStats& decode : stats.queue->decodes) {
    CHECK(decode.pool_peak_bytes <= stats.pool_peak_bytes);
    CHECK(decode.pool_peak_bytes <= ready.queue["pool_bytes"].get<int64_t>());
    CHECK(decode.resident_bytes - stats.queue->resident_before_bytes <= stats.limit_bytes + 32 * kMiB);
  }
  CHECK(stats.queue->decodes.front().pool_peak_bytes == stats.pool_peak_bytes);
}

TEST_CASE("another order of the queue gives the same results") {
  const ReadyQueue ready;
  ready.decoded();
  const auto expected = ready.outputs(".");
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{3}));
  CAPTURE(seed);
  test::Random random(seed);
  json shuffled = ready.queue;
  json& order = shuffled["order"];
  for (size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i)))]);
  std::filesystem::create_directory(ready.scratch / "shuffled");
  ready.write(shuffled);
  const RunStats stats = ready.decoded({"-o", ready.scratch / "shuffled"});
  CHECK(ready.outputs("shuffled") == expected);
  CHECK(stats.queue->pool_allocations == 1);
}

TEST_CASE("the pool grows where the largest does not come first") {
  const ReadyQueue ready;
  json backwards = ready.queue;
  std::reverse(backwards["order"].begin(), backwards["order"].end());
  ready.write(backwards);
  const RunStats stats = ready.decoded();
  CHECK(stats.queue->pool_growth_bytes > 1 * kMiB);
  CHECK(stats.queue->pool_allocations == 1);
}

TEST_CASE("a decode that fails ends the queue by name, and what was done before it stays") {
  const ReadyQueue ready;
  const json first = ready.queue["order"][0], second = ready.queue["order"][1];
  const auto request_of = [&](const json& decode) {
    return ready.queue["requests"][decode["request"].get<size_t>()];
  };
  REQUIRE(request_of(first)["name"] == "c");  // a batch of two
  REQUIRE(request_of(second)["name"] == "b");
  ready.scratch.write("latent-b0.npy", "not an array");
  const std::vector<std::string> before = ready.scratch.files();
  require_refused(ready.decode({}, "model"), 2,
                  {"headroom-decode: ", "requests[1] (\"b\")", "latent-b0.npy", "1 of 8 decodes were done"});
  std::vector<std::string> expected = before;
  expected.push_back("c.npy");
  std::sort(expected.begin(), expected.end());
  CHECK(ready.scratch.files() == expected);
  test::write_npy(ready.scratch / "latent-b0.npy", random_latent({1, 4, 8, 8}, 1));
  require_refused(ready.decode({}, "model"), 2, {"requests[1] (\"b\")", "expected shape 1x4x12x16"});
}

TEST_CASE("latents that requests leave open come from the command line") {
  ReadyQueue ready;
  ready.decoded();
  const auto expected = ready.outputs(".");
  ready.requests[0].erase("latent");
  ready.requests[3].erase("latent");
  ready.plan();
  std::filesystem::create_directory(ready.scratch / "given");
  const auto latent = [&](const char* name) { return (ready.scratch / name).string(); };
  const Words words{"-o",
                    ready.scratch / "given",
                    "--latent",
                    latent("latent-a0.npy"),
                    latent("latent-a1.npy"),
                    latent("latent-d0.npy")};
  ready.decoded(words);
  CHECK(ready.outputs("given") == expected);
  require_refused(ready.decode(), 2, {"--latent: expected one for each of the 3 decodes", "found 0"});
  require_refused(ready.decode(joined(words, {latent("latent-a0.npy")})), 2, {"--latent", "found 4"});
}

TEST_CASE("a request's own latent scale is undone") {
  ReadyQueue ready;
  const json config = read_json_file(std::string(kModel) + "/config.json", 1 << 20);
  ready.decoded();
  const std::string expected = test::read_bytes(ready.scratch / "b.npy");
  Array scaled = read_latent(ready.scratch / "latent-b0.npy");
  for (float& value : scaled.values) value *= config["scaling_factor"].get<float>();
  test::write_npy(ready.scratch / "latent-b0.npy", scaled);
  ready.requests[1]["latent_scale"] = "model";
  ready.plan();
  ready.decoded();
  const Array found = read_latent(ready.scratch / "b.npy");
  ready.scratch.write("expected.npy", expected);
  const Array wanted = read_latent(ready.scratch / "expected.npy");
  double largest = 0;
  for (size_t i = 0; i < found.values.size(); ++i)
    largest = std::max(largest, double(std::abs(found.values[i] - wanted.values[i])));
  CHECK(largest < 1e-3);
}

TEST_CASE("what each latent of a queue was taken for is said by its file") {
  const ReadyQueue ready;
  const Ended ended = ready.decode({}, "auto");
  REQUIRE(ended.code == 0);
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 8);
  CHECK_THAT(ended.err, Catch::Contains("latent-a1.npy: ") && Catch::Contains("--latent-scale none"));
}

TEST_CASE("queues that cannot run are refused before the first decode") {
  ReadyQueue ready;
  const std::vector<std::string> before = ready.scratch.files();
  const auto refuses = [&](const json& queue, const Words& more, const std::vector<std::string>& parts) {
    ready.write(queue);
    require_refused(ready.decode(more), 2, parts);
    CHECK(ready.scratch.files() == before);
  };
  json changed = ready.queue;
  changed["requests"][4].erase("output");
  refuses(changed, {}, {"queue.json", "requests[4] (\"e\")", "output: missing"});
  changed = ready.queue;
  changed["requests"][4]["output"] = "e-{i}.gif";
  refuses(changed, {}, {"e-0.gif", ".png, .jpg, .webp, .y4m, .npy or .safetensors"});
  for (const std::string leaves : {"../e-{i}.npy", "a/../../e-{i}.npy", "/tmp/e-{i}.npy"}) {
    changed = ready.queue;
    changed["requests"][4]["output"] = leaves;
    refuses(changed, {"-o", ready.scratch / "new"},
            {"requests[4] (\"e\")", "output: expected a name inside -o"});
  }
  refuses(changed, {}, {"requests[4] (\"e\")", "inside the queue file's folder"});
  changed = ready.queue;
  changed["requests"][4]["output"] = "e.npy";
  refuses(changed, {}, {"queue.json", "requests[4].output"});
  for (const char* suffix : {".png", ".jpg", ".jpeg", ".webp"}) {  // pictures of a batch are c-0 and c-1
    changed = ready.queue;
    changed["requests"][2]["output"] = std::string("c") + suffix;
    changed["requests"][4]["output"] = std::string("c-{i}") + suffix;
    refuses(changed, {}, {"queue.json", "requests[4].output"});
  }
  changed = ready.queue;
  changed["plans"][1]["passes"].back()["steps"].erase(0);
  refuses(changed, {}, {"queue.json: plans[1]"});
  changed = ready.queue;
  changed.erase("planned");
  refuses(changed, {}, {"queue.json", "not planned"});
  refuses(ready.queue, {"-o", ready.queue_file + "/none"}, {"none: the folder cannot be made"});
  refuses(ready.queue, {"--verify"}, {"--verify"});
  refuses(ready.queue, {"--plan", ready.queue_file}, {"--plan"});
  ready.scratch.write("queue.json", "[]");
  require_refused(ready.decode(), 2, {"queue.json: expected an object"});
  require_refused(call(run_decode, {"--queue", ready.scratch / "none.json", "--model", kModel}), 2,
                  {"none.json: no such file"});
}

TEST_CASE("what an output's format cannot hold is refused before the first decode") {
  ReadyQueue ready;
  ready.add("wide", 65'504, 8, 1, 1);
  ready.requests.back()["output"] = "outputs/wide.jpg";
  ready.requests.front()["output"] = "outputs/a-{i}.npy";
  ready.plan("96MiB");
  const std::vector<std::string> before = ready.scratch.files();
  require_refused(ready.decode(), 2,
                  {"queue.json: requests[5] (\"wide\"): output: ", "wide.jpg: the format takes at most 65500",
                   "found 65504x8: write .png", "no decode was done"});
  CHECK(ready.scratch.files() == before);
  CHECK_FALSE(std::filesystem::exists(ready.scratch / "outputs"));
}

TEST_CASE("a queue whose costs were measured elsewhere is refused, unless that is meant") {
  const ReadyQueue ready;
  json queue = ready.queue;
  queue["plans"][1]["environment"] = {{"device", "Abacus, 3 threads"}, {"libraries", "LibTorch 0.1"}};
  ready.write(queue);
  require_refused(ready.decode(), 2,
                  {"queue.json: plans[1]: environment: ", "measured on Abacus, 3 threads (LibTorch 0.1)",
                   "this is ", "2 threads", "--other-environment"});
  CHECK_FALSE(std::filesystem::exists(ready.scratch / "a-0.npy"));
  CHECK(ready.decode({"--other-environment"}).code == 0);
}

}  // namespace
}  // namespace headroom
