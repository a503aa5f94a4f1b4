#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/files/latent_file.h"
#include "decoder/graph/json_fields.h"
#include "planner/program/run.h"
#include "tests/support/model_folder.h"
#include "tests/support/picture.h"
#include "tests/support/program.h"
#include "tests/support/tiny_video.h"

// Pictures through a decoder of clips: plans and decodes of one frame are for the layer graph of one frame.
namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::Words;

/// A folder with the config of a decoder of clips, and a latent for each number of its frames.
struct ReadyClips {
  test::Scratch scratch;
  std::string model = scratch / "model";

  explicit ReadyClips(json config) {
    config["base_dim"] = 32;
    std::filesystem::create_directories(model);
    scratch.write("model/config.json", config.dump());
    for (const int64_t frames : {1, 2})
      test::write_npy(latent(frames), random_latent({1, 4, frames, 5, 6}, static_cast<uint64_t>(frames)));
  }
  std::string latent(int64_t frames) const { return scratch / ("latent-" + std::to_string(frames) + ".npy"); }

  json planned(const Words& words, const std::string& file) const {
    const Ended ended = call(planner::run_plan, joined(words, {"--model", model, "-o", scratch / file}));
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return read_json_file(scratch / file, 1 << 28);
  }
  void decoded(const Words& words) const {
    const Ended ended = test::spawn(HEADROOM_BIN "/headroom-decode",
                                    joined(words, {"--model", model, "--random-weights", "5", "--quiet"}));
    INFO(ended.err);
    REQUIRE(ended.code == 0);
  }
  json requests(const std::vector<int64_t>& frames, const std::string& size) const {
    json list = json::array();
    const auto cross = size.find('x');
    for (const int64_t count : frames) {
      list.push_back({{"name", std::to_string(count)},
                      {"width_pixels", std::stoi(size.substr(0, cross))},
                      {"height_pixels", std::stoi(size.substr(cross + 1))},
                      {"frames", count},
                      {"latent", "latent-" + std::to_string(count == 1 ? 1 : 2) + ".npy"},
                      {"output", "queue-" + std::to_string(count) + ".npy"}});
    }
    return {{"schema", "headroom.requests"}, {"version", 1}, {"requests", list}};
  }
};

TEST_CASE("a picture through a decoder of clips is planned and decoded with kernels of one frame") {
  const bool residual = GENERATE(false, true);
  const ReadyClips ready(residual ? test::tiny_wan_22_config() : test::tiny_wan_config());
  const std::string size = residual ? "48x40" : "24x20";
  const Words ample{"--size", size, "--limit", "1GiB"};
  const json picture = ready.planned(ample, "picture.json");
  const json clip = ready.planned(joined(ample, {"--frames", "3"}), "clip.json");
  CHECK(picture["weights_bytes"].get<int64_t>() * 2 < clip["weights_bytes"].get<int64_t>());
  for (const char* plan : {"picture.json", "clip.json"}) {
    CHECK(call(planner::run_plan, {"validate", ready.scratch / plan}).code == 0);
    CHECK(call(planner::run_plan, {"explain", ready.scratch / plan}).code == 0);
  }
  const std::string out = ready.scratch / "picture.npy";
  ready.decoded({"--plan", ready.scratch / "picture.json", "--latent", ready.latent(1), "-o", out});
  const Array expected = read_latent(out);

  // By a plan that is made for the latent, and beside a clip, whose kernels serve both.
  ready.decoded({"--limit", "1GiB", "--latent", ready.latent(1), "-o", ready.scratch / "asked.npy"});
  CHECK(test::relative_error(read_latent(ready.scratch / "asked.npy"), expected) <= test::kExact);
  int64_t weights[2] = {0, 0};
  for (const bool mixed : {false, true}) {
    const std::vector<int64_t> frames = mixed ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{1};
    const std::string file = ready.scratch.write("requests.json", ready.requests(frames, size).dump());
    const json queue = ready.planned({"queue", file, "--limit", "1GiB"}, "queue.json");
    weights[mixed ? 1 : 0] = queue["plans"][0]["weights_bytes"];
    ready.decoded({"--queue", ready.scratch / "queue.json"});
    CHECK(test::relative_error(read_latent(ready.scratch / "queue-1.npy"), expected) <= test::kExact);
  }
  CHECK(weights[0] == picture["weights_bytes"]);
  CHECK(weights[1] == clip["weights_bytes"]);
}

}  // namespace
}  // namespace headroom
