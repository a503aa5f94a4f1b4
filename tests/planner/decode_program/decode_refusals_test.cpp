#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "decoder/files/latent_file.h"
#include "decoder/plan/plan_file.h"
#include "planner/decode_program/run.h"
#include "tests/planner/decode_program/ready_decode.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::kWeights;
using test::ReadyDecode;
using test::require_refused;
using test::Words;

TEST_CASE("bad usage ends with 2") {
  const ReadyDecode ready;
  ready.refuses({"--colour", "red"}, {"headroom-decode: ", "--colour", "--help"});
  ready.refuses({"--limit", "1GiB"}, {"--limit"});
  ready.refuses({"--weights", ready.model, "--random-weights", "1"}, {"--random-weights"});
  ready.refuses({"--random-weights", "many"}, {"--random-weights"});
  ready.refuses({"--latent-scale", "twice"}, {"--latent-scale"});
  ready.refuses({"--threads", "0"}, {"--threads"});
  ready.refuses({"-o", ready.scratch / "out.y4m", "--fps", "0"}, {"--fps", "30000/1001"});
  ready.refuses({"--fps", "25"}, {"--fps", ".y4m"});
  ready.refuses({"--quality", "80"}, {"--quality", ".jpg or .webp"});
  ready.refuses({"-o", ready.scratch / "out.jpg", "--quality", "0"}, {"--quality"});
  ready.refuses({"--model", "sdxxl"}, {"sdxxl", "sdxl"});
  for (const char* missing : {"--plan", "--model", "--latent", "-o"}) {
    Words words = ready.words();
    const auto at = std::find(words.begin(), words.end(), missing);
    words.erase(at, at + 2);
    CAPTURE(missing);
    require_refused(call(run_decode, words), 2, {"headroom-decode: "});
  }
  require_refused(call(run_decode, {}), 2, {"headroom-decode: "});
}

TEST_CASE("missing files are named") {
  const ReadyDecode ready;
  const std::string none = ready.scratch / "none";
  ready.refuses({"--plan", none + ".json"}, {"none.json: no such file"});
  ready.refuses({"--latent", none + ".npy"}, {"none.npy"});
  ready.refuses({"--latent", none + ".safetensors"}, {"none.safetensors"});
  ready.refuses({"--weights", none}, {"none: no such folder"});
  // A folder cannot be made where a file is.
  std::ofstream(none) << "x";
  ready.refuses({"-o", none + "/out.npy"}, {"none"});
  std::filesystem::remove(none);
  std::filesystem::remove(ready.weights());
  ready.refuses({}, {kWeights, "no such file", "--weights"});
  std::ofstream(ready.model + "/diffusion_pytorch_model.bin") << "x";
  ready.refuses({}, {kWeights, "no such file", "save_pretrained"});
  std::filesystem::remove(ready.model + "/config.json");
  ready.refuses({}, {"config.json", "no such file"});
}

TEST_CASE("an output's folder that is not there is named, and not made") {
  const ReadyDecode ready;
  const std::string folder = ready.scratch / "nope";
  ready.refuses({"-o", folder + "/out.png"}, {"-o " + folder + "/out.png: there is no folder", "mkdir -p"});
  ready.refuses({"-o", folder + "/frames/"}, {"there is no folder " + folder + ";"});
  ready.refuses({"--trace", folder + "/t.json"}, {"--trace", "there is no folder"});
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("one picture in a name without a suffix is a mistyped file, with a slash it is a folder") {
  const ReadyDecode ready;
  const std::string name = ready.scratch / "x";
  ready.refuses({"-o", name}, {"did you mean " + name + ".png?", name + "/ makes a folder"});
  CHECK_FALSE(std::filesystem::exists(name));
  CHECK(ready.decode({"-o", name + "/"}).code == 0);
  CHECK(std::filesystem::exists(name + "/00000.png"));
}

TEST_CASE("latents of the wrong shape or with values that are not finite are refused") {
  const ReadyDecode ready;
  const auto with = [&](const Array& latent) {
    return Words{"--latent", test::write_npy(ready.scratch / "other.npy", latent)};
  };
  ready.refuses(with(random_latent({1, 4, 5, 7}, 1)), {"latent", "1x4x5x6", "1x4x5x7"});
  ready.refuses(with(random_latent({1, 3, 5, 6}, 1)),
                {"other.npy: shape (1, 3, 5, 6) has 3 channels; ", "decodes 4"});
  ready.refuses(with(random_latent({1, 16, 5, 6}, 1)), {"has 16 channels (", ", flux, ", "decodes 4"});
  ready.refuses(with(random_latent({2, 4, 5, 6}, 1)), {"latent", "2x4x5x6"});
  ready.refuses(with(random_latent({3, 5, 6}, 1)), {"other.npy: ", "has 3 channels"});
  ready.refuses(with(random_latent({5, 6}, 1)), {"other.npy", "shape", "C×H×W"});
  ready.refuses(with(random_latent({1, 4, 2, 5, 6}, 1)), {"latent"});
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    Array latent = ready.latent;
    latent.values[17] = bad;
    ready.refuses(with(latent), {"other.npy", "element 17", "not finite"});
  }
  const std::string npy = test::read_bytes(ready.latent_file);
  for (const size_t length : {size_t{0}, size_t{5}, size_t{60}, npy.size() - 1}) {
    CAPTURE(length);
    ready.refuses({"--latent", ready.scratch.write("cut.npy", npy.substr(0, length))}, {"cut.npy"});
  }
  ready.refuses({"--latent", ready.scratch.write("text.txt", "1 2 3")}, {"text.txt", ".npy"});
}

/// The plan with all that it says of tiles and blocks scaled down, as far as the validator can know it to be
/// possible.
std::optional<json> understated(const ReadyDecode& ready, double share) {
  json plan = ready.plan_json();
  const int64_t weights = plan["weights_bytes"].get<int64_t>();
  const int64_t own =
      plan["predicted"]["peak_bytes"].get<int64_t>() - plan["reserve_bytes"].get<int64_t>() - weights;
  plan["reserve_bytes"] = 0;
  plan["limit_bytes"] = weights + static_cast<int64_t>(double(own) * share);
  plan["predicted"]["peak_bytes"] = plan["limit_bytes"];
  for (json& pass : plan["passes"]) pass["predicted"]["peak_bytes"] = plan["limit_bytes"];
  ready.write_plan_json(plan);
  if (call(planner::run_plan, {"validate", ready.plan_file}).code != 0) return std::nullopt;
  return plan;
}

TEST_CASE("a plan whose predictions are too low is stopped with 4, and nothing is half-written") {
  json config = test::tiny_config({16, 32});
  config["scaling_factor"] = 1;  // of whose latents there is nothing to say
  config["mid_block_add_attention"] = false;
  const std::string suffix = GENERATE(".npy", ".safetensors", ".png");
  CAPTURE(suffix);
  const ReadyDecode ready(config);
  const json good = ready.plan_json();
  int stopped = 0;
  for (const double share : {0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}) {
    ready.write_plan_json(good);
    if (!understated(ready, share)) continue;
    const Words words =
        ready.words({"-o", ready.scratch / ("out" + suffix), "--stats", ready.scratch / "stats.json"});
    const Ended ended = call(run_decode, words);
    if (ended.code == 0) break;  // enough, after all
    require_refused(ended, 4, {"stopped at the limit", "pass ", "asked for", "live of a limit of"});
    CHECK(ready.scratch.files() == std::vector<std::string>{"latent.npy", "model", "plan.json"});
    ++stopped;
  }
  CHECK(stopped > 0);
}

TEST_CASE("an output that was there before stays as it was when the decode fails") {
  const ReadyDecode ready;
  std::ofstream(ready.output) << "before";
  const std::string cut = test::read_bytes(ready.weights()).substr(0, 1000);
  ready.write_weights(cut);
  CHECK(ready.decode().code == 2);
  CHECK(test::read_bytes(ready.output) == "before");
}

TEST_CASE("a plan whose costs were measured elsewhere is refused, unless that is meant") {
  const ReadyDecode ready;
  json plan = ready.plan_json();
  plan["environment"] = {{"device", "Abacus, 3 threads"}, {"libraries", "LibTorch 0.1"}};
  ready.write_plan_json(plan);
  ready.refuses({}, {"plan.json", "measured on Abacus, 3 threads (LibTorch 0.1)", "this is ", "2 threads",
                     "--other-environment"});
  CHECK(call(run_decode, joined(ready.words(), {"--other-environment"})).code == 0);
}

TEST_CASE("latents of other channels, and packed ones, are refused before anything is planned") {
  const ReadyDecode ready;
  const auto refuses = [&](const std::string& model, const std::vector<int64_t>& shape,
                           const std::vector<std::string>& parts) {
    const std::string file = test::write_npy(ready.scratch / "other.npy", random_latent(shape, 1));
    require_refused(call(run_decode, {"--limit", "1KiB", "--model", model, "--random-weights", "0",
                                      "--latent", file, "-o", ready.output}),
                    2, parts);
  };
  refuses("flux", {1, 4, 8, 8}, {"has 4 channels (", "sd15, sdxl", "; flux decodes 16"});
  refuses("flux", {1, 1024, 64},
          {"shape (1, 1024, 64) is a packed FLUX latent. Unpack it first: "
           "pipe._unpack_latents(latents, height, width, pipe.vae_scale_factor)"});
}

}  // namespace
}  // namespace headroom
