#include "decoder/validator/other_model.h"

#include <catch2/catch.hpp>

namespace headroom {
namespace {

Model model_at(const std::string& config_file, const std::string& name) {
  Model model;
  model.config_file = config_file;
  model.name = name;
  return model;
}

TEST_CASE("other model: a plan's name and the model that is given are compared as paths",
          "[unit][validator]") {
  const Model folder = model_at("/models/tiny/config.json", "tiny");
  for (const char* same :
       {"tiny", "models/tiny", "../tiny", "/models/tiny", "/models/tiny/", "/old/models/../../models/tiny",
        "/models/tiny/vae", "/models/tiny/vae.safetensors", "."}) {
    CAPTURE(same);
    CHECK_FALSE(names_other_model(same, folder));
  }
  for (const char* other : {"sdxl", "/models/small", "/other/tiny", "/models/tiny/small"}) {
    CAPTURE(other);
    CHECK(names_other_model(other, folder));
  }
  const Model pipeline = model_at("/pipelines/mine/vae/config.json", "mine");
  CHECK_FALSE(names_other_model("pipelines/mine", pipeline));
  CHECK_FALSE(names_other_model("pipelines/mine/vae", pipeline));
  CHECK(names_other_model("pipelines/yours/vae", pipeline));
  const Model built_in = model_at("sdxl", "sdxl");
  CHECK_FALSE(names_other_model("sdxl", built_in));
  CHECK(names_other_model("sd3", built_in));
}

TEST_CASE("other model: it is named as --model names it", "[unit][validator]") {
  CHECK(argument_of(model_at("/models/tiny/config.json", "tiny")) == "/models/tiny");
  CHECK(argument_of(model_at("sdxl", "sdxl")) == "sdxl");
}

}  // namespace
}  // namespace headroom
