#include <catch2/catch.hpp>
#include <filesystem>

#include "decoder/program/run.h"
#include "planner/program/run.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

TEST_CASE("the folder of a whole pipeline stands for its vae") {
  const test::Scratch scratch;
  const std::string vae = test::write_model(scratch / "pipeline/vae", test::tiny_config(), 1);
  scratch.write("pipeline/model_index.json", "{}");
  const std::string pipeline = scratch / "pipeline";
  const std::string latent = test::write_npy(scratch / "latent.npy", random_latent({1, 4, 5, 6}, 3));
  const std::string plan = scratch / "plan.json";
  const auto decode = [&](const std::string& model, const std::string& output) {
    return test::call(run_decode,
                      {"--plan", plan, "--model", model, "--latent", latent, "-o", scratch / output});
  };
  const auto succeeds = [](const test::Ended& ended) {
    INFO(ended.err);
    REQUIRE(ended.code == 0);
  };
  succeeds(test::call(planner::run_plan,
                      {"--model", pipeline, "--size", "12x10", "--limit", "64MiB", "-o", plan}));
  succeeds(decode(pipeline, "a.npy"));
  succeeds(decode(vae, "b.npy"));
  CHECK(test::read_bytes(scratch / "a.npy") == test::read_bytes(scratch / "b.npy"));

  fs::remove(fs::path(vae) / "config.json");
  test::require_refused(decode(pipeline, "c.npy"), 2, {"pipeline/vae/config.json"});
}

}  // namespace
}  // namespace headroom
