#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/families/built_in_models.h"
#include "planner/program/run.h"
#include "tests/support/program.h"

namespace headroom::planner {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::require_refused;

TEST_CASE("models lists what --model takes, as a table and as JSON") {
  CHECK_THAT(call(run_plan, {"--help"}).out, Catch::Contains("models"));
  const json list = json::parse(call(run_plan, {"models", "--json"}).out);
  const Ended table = call(run_plan, {"models"});
  CHECK(table.code == 0);
  std::vector<std::string> names;
  for (const json& model : list) {
    names.push_back(model["name"]);
    CHECK_THAT(table.out, Catch::Contains("\n" + names.back() + " "));
    CHECK_THAT(table.out, Catch::Contains(" " + model["class"].get<std::string>() + " "));
  }
  CHECK(names == built_in_models());
  const auto flux =
      std::find_if(list.begin(), list.end(), [](const json& model) { return model["name"] == "flux"; });
  CHECK((*flux)["parameters"] == 49'545'475);
  CHECK((*flux)["also"].dump().find("z-image") != std::string::npos);
  CHECK_THAT(table.out, Catch::Contains("49.5 M"));
  const auto entry = [&](const std::string& name) {
    return list[static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  json sdxl = entry("sdxl"), wan = entry("wan2.2");
  CHECK(sdxl["config"]["block_out_channels"] == json{128, 256, 512, 512});
  CHECK(wan["config"]["decoder_base_dim"] == 256);
  sdxl.erase("config"), wan.erase("config");
  CHECK(sdxl == json{{"name", "sdxl"},
                     {"class", "AutoencoderKL"},
                     {"in_diffusers", true},
                     {"video", false},
                     {"latent_channels", 4},
                     {"spatial_factor", 8},
                     {"time_factor", 1},
                     {"parameters", 49'490'199},
                     {"also", {"stable-diffusion-xl", "stable-diffusion-xl-base-1.0", "sdxl-turbo"}}});
  CHECK(wan == json{{"name", "wan2.2"},
                    {"class", "AutoencoderKLWan"},
                    {"in_diffusers", true},
                    {"video", true},
                    {"latent_channels", 48},
                    {"spatial_factor", 16},
                    {"time_factor", 4},
                    {"parameters", 555'051'580},
                    {"also", json::array()}});
  const Ended one = call(run_plan, {"models", "sdxl", "--json"});
  CHECK(json::parse(one.out) == json::array({entry("sdxl")}));
  require_refused(call(run_plan, {"models", "no-such-model"}), 2, {"no-such-model"});
}

}  // namespace
}  // namespace headroom::planner
