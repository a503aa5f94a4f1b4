#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "decoder/base/json_fields.h"
#include "decoder/files/array.h"
#include "planner/decode_program/run.h"
#include "planner/program/run.h"
#include "tests/support/model_folder.h"
#include "tests/support/picture.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom::test {

inline constexpr const char* kWeights = "diffusion_pytorch_model.safetensors";

/// A folder with a tiny model, a latent of 5×6 and a plan for it.
struct ReadyDecode {
  Scratch scratch;
  nlohmann::json config;
  Array latent = random_latent({1, 4, 5, 6}, 3);
  std::string model, latent_file, plan_file, output;

  explicit ReadyDecode(const nlohmann::json& with_config = tiny_config()) : config(with_config) {
    model = write_model(scratch / "model", config, 1);
    latent_file = test::write_npy(scratch / "latent.npy", latent);
    plan_file = scratch / "plan.json";
    output = scratch / "out.npy";
    const Ended planned =
        call(planner::run_plan, {"--model", model, "--size", "12x10", "--limit", "64MiB", "-o", plan_file});
    INFO(planned.err);
    REQUIRE(planned.code == 0);
  }
  /// The words of a good decode; `changes` are pairs of option and value that replace its own.
  Words words(const Words& changes = {}) const {
    Words list{"--plan",         plan_file, "--model", model,  "--latent",  latent_file,
               "--latent-scale", "none",    "-o",      output, "--threads", "2"};
    for (size_t i = 0; i + 1 < changes.size(); i += 2) {
      const auto at = std::find(list.begin(), list.end(), changes[i]);
      if (at == list.end()) {
        list.insert(list.end(), {changes[i], changes[i + 1]});
      } else {
        *(at + 1) = changes[i + 1];
      }
    }
    return list;
  }
  Ended decode(const Words& changes = {}) const { return call(run_decode, words(changes)); }
  /// Refused with 2, and nothing was written.
  void refuses(const Words& changes, const std::vector<std::string>& parts) const {
    refuses(2, changes, parts);
  }
  void refuses(int code, const Words& changes, const std::vector<std::string>& parts) const {
    const std::vector<std::string> before = scratch.files();
    require_refused(decode(joined(changes, {"--stats", scratch / "stats.json"})), code, parts);
    CHECK(scratch.files() == before);
  }
  std::string weights() const { return model + "/" + kWeights; }
  void write_weights(const std::string& bytes) const { std::ofstream(weights(), std::ios::binary) << bytes; }
  void write_plan_json(const nlohmann::json& document) const { scratch.write("plan.json", document.dump()); }
  nlohmann::json plan_json() const { return read_json_file(plan_file, 1 << 26); }
};

}  // namespace headroom::test
