// Messages of headroom-decode about GPUs, with one and without.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "decoder/base/json_fields.h"
#include "decoder/weights/random_weights.h"
#include "planner/decode_program/run.h"
#include "planner/program/run.h"
#include "tests/support/gpu.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

/// A model, a latent, and plans for both devices.
struct ReadyGpu {
  Scratch scratch;
  std::string model = test::write_model(scratch / "model", test::tiny_config(), 1);
  std::string latent = test::write_npy(scratch / "latent.npy", random_latent({1, 4, 5, 6}, 3));
  std::string output = scratch / "out.npy", requests = scratch / "requests.json";

  std::string planned(const Words& how, const std::string& name) const {
    const Ended ended =
        call(planner::run_plan, joined(how, {"--model", model, "--limit", "64MiB", "-o", scratch / name}));
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return scratch / name;
  }
  std::string plan(const std::string& device) const {
    return planned({"--size", "12x10", "--device", device}, device + ".json");
  }
  std::string queue(const std::string& device) const {
    const json document = {{"schema", "headroom.requests"},
                           {"version", 1},
                           {"requests",
                            {{{"name", "one"},
                              {"width_pixels", 12},
                              {"height_pixels", 10},
                              {"latent", "latent.npy"},
                              {"output", "out.npy"}}}}};
    scratch.write("requests.json", document.dump());
    return planned({"queue", requests, "--device", device}, device + "-queue.json");
  }
  Ended decode(const Words& how) const {
    return call(run_decode,
                joined(how, {"--model", model, "--latent", latent, "-o", output, "--threads", "2"}));
  }
  Ended decode_queue(const Words& how) const {
    return call(run_decode, joined(how, {"--model", model, "--threads", "2"}));
  }
};

/// Runs `decode` as the first of two ranks that torchrun started.
template <typename Decode>
Ended as_a_rank(const Decode& decode) {
  const std::map<std::string, std::string> variables{{"RANK", "0"},
                                                     {"LOCAL_RANK", "0"},
                                                     {"WORLD_SIZE", "2"},
                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                     {"MASTER_PORT", "1"}};
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const Ended ended = decode();
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  return ended;
}

TEST_CASE("without a GPU whatever needs one ends with 5 and one line, with one it decodes") {
  const ReadyGpu ready;
  const std::string plan = ready.plan("cuda"), queue = ready.queue("cuda");
  std::string why;
  const bool gpu = test::gpu_if_any(why) != nullptr;
  const bool built = why.find("built without CUDA") == std::string::npos;
  for (const Ended& ended :
       {ready.decode({"--plan", plan}), ready.decode({"--limit", "64MiB", "--device", "cuda"}),
        ready.decode({"--limit", "auto", "--device", "cuda"}),
        ready.decode_queue({"--queue", queue, "--device", "cuda"}), ready.decode_queue({"--queue", queue})}) {
    if (gpu) {
      INFO(ended.err);
      CHECK(ended.code == 0);
    } else {
      require_refused(ended, 5, {"headroom-decode: ", built ? "cannot use CUDA" : "built without CUDA"});
    }
    CHECK(std::filesystem::exists(ready.output) == gpu);
    std::filesystem::remove(ready.output);
  }
}

TEST_CASE("plans are decoded on the device that they are for") {
  const ReadyGpu ready;
  const std::string file = ready.plan("cuda");
  require_refused(ready.decode({"--plan", file, "--device", "cpu"}), 2,
                  {"--device: ", "is planned for cuda, found cpu"});
  require_refused(ready.decode({"--plan", file, "--device", "gpu"}), 2,
                  {"--device: expected cpu, cuda or cuda:N, found 'gpu'"});
  require_refused(ready.decode_queue({"--queue", ready.queue("cpu"), "--device", "cuda"}), 2,
                  {"--device: ", "is planned for cpu, found cuda"});
  CHECK_FALSE(std::filesystem::exists(ready.output));
}

TEST_CASE("programs refuse PyTorch's executor, which runs inside Python alone") {
  const ReadyGpu ready;
  const std::string file = ready.plan("torch"), queue = ready.queue("torch");
  const std::string ranked =
      ready.planned({"--size", "12x10", "--device", "torch", "--ranks", "2"}, "ranked.json");
  const std::string encode =
      ready.planned({"--size", "12x10", "--device", "torch", "--direction", "encode"}, "encode.json");
  const std::string picture =
      test::write_npy(ready.scratch / "picture.npy", random_latent({1, 3, 10, 12}, 3));
  const Words by_encode{"encode", "--model", ready.model, "--picture", picture, "-o", ready.output};
  const std::vector<std::string> why{"headroom-decode: ", "the plan is for PyTorch's executor",
                                     "expected a plan for cpu or cuda"};
  for (const Ended& ended :
       {ready.decode({"--plan", file}), ready.decode({"--plan", file, "--device", "torch"}),
        ready.decode({"--limit", "64MiB", "--device", "torch"}),
        ready.decode({"--limit", "auto", "--device", "torch"}), ready.decode_queue({"--queue", queue}),
        call(run_decode, joined(by_encode, {"--plan", encode})),
        call(run_decode, joined(by_encode, {"--limit", "64MiB", "--device", "torch"})), as_a_rank([&] {
          return ready.decode({"--plan", ranked});
        })})
    require_refused(ended, 2, why);
  require_refused(ready.decode({"--plan", file, "--device", "cpu"}), 2,
                  {"--device: ", "is planned for torch, found cpu"});
  CHECK_FALSE(std::filesystem::exists(ready.output));
}

TEST_CASE("a queue whose plans are for several devices is refused") {
  const ReadyGpu ready;
  const std::string file = ready.queue("cpu");
  json queue = read_json_file(file, 1 << 26);
  const json other = read_json_file(ready.queue("cuda"), 1 << 26);
  queue["requests"].push_back(other["requests"][0]);
  queue["requests"][1]["output"] = "other.npy";
  queue["plans"].push_back(other["plans"][0]);
  queue["order"].push_back({{"request", 1}, {"repetition", 0}, {"plan", 1}});
  ready.scratch.write("mixed.json", queue.dump());
  const Ended ended = ready.decode_queue({"--queue", ready.scratch / "mixed.json"});
  CAPTURE(ended.err);
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("plans[1]"));
}

}  // namespace
}  // namespace headroom
