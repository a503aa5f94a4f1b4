// headroom-decode on a GPU whose memory others take between a plan and its decode.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "decoder/base/json_fields.h"
#include "decoder/weights/random_weights.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::joined;
using test::Words;

/// The programs, installed with the emulated GPU in the place of CUDA.
struct CrowdedGpu {
  test::Scratch scratch;
  std::string model = test::write_model(scratch / "model", test::tiny_config(), 1);
  std::string latent = test::write_npy(scratch / "latent.npy", random_latent({1, 4, 5, 6}, 3));
  std::string output = scratch / "out.npy", stats = scratch / "stats.json", plan = scratch / "plan.json";

  CrowdedGpu() {
    for (const char* folder : {"bin", "lib"}) fs::create_directories(scratch / folder);
    for (const char* program : {"headroom-decode", "headroom-plan"})
      fs::copy_file(fs::path(HEADROOM_BIN) / program, fs::path(scratch / "bin") / program);
    fs::copy_file(HEADROOM_CROWDED_GPU_MODULE, scratch / "lib/headroom-cuda.so");
  }
  Ended decode(int refusals, const Words& how) const {
    return test::spawn(
        "HEADROOM_CROWDED_GPU=" + std::to_string(refusals) + " '" +
            (scratch / "bin/headroom-decode").string() + "'",
        joined(how, {"--model", model, "--latent", latent, "-o", output, "--stats", stats, "--quiet"}));
  }
  void make_plan() const {
    const Ended ended = test::spawn(
        scratch / "bin/headroom-plan",
        {"--model", model, "--size", "12x10", "--device", "cuda", "--limit", "64MiB", "-o", plan});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
  }
};

TEST_CASE("a decode in all that is free is planned anew where others were quicker") {
  const CrowdedGpu ready;
  for (const int refusals : {0, 1, 2}) {
    const Ended ended = ready.decode(refusals, {"--limit", "auto", "--device", "cuda"});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    const auto limit = read_json_file(ready.stats, 1 << 20)["limit_bytes"].get<int64_t>();
    CHECK(limit == int64_t{64} << 20 >> refusals);
    fs::remove(ready.output);
  }
}

TEST_CASE("a plan whose memory others have ends with 3, and the next smaller plan is named") {
  const CrowdedGpu ready;
  ready.make_plan();
  test::require_refused(
      ready.decode(1, {"--plan", ready.plan}), 3,
      {"headroom-decode: ", "of the GPU's memory", "--limit 33554432 ", "(takes ", "predicted "});
  test::require_refused(ready.decode(1, {"--limit", "64MiB", "--device", "cuda"}), 3, {"--limit 33554432 "});
  test::require_refused(ready.decode(3, {"--limit", "auto", "--device", "cuda"}), 3, {"--limit 8388608 "});
  test::require_refused(ready.decode(20, {"--plan", ready.plan}), 3, {"--limit 33554432 "});
  CHECK_FALSE(fs::exists(ready.output));
  CHECK_FALSE(fs::exists(ready.stats));
  REQUIRE(ready.decode(0, {"--plan", ready.plan}).code == 0);
}

}  // namespace
}  // namespace headroom
