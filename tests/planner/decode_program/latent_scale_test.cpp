#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "decoder/files/latent_file.h"
#include "tests/planner/decode_program/ready_decode.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::ReadyDecode;

TEST_CASE("with --latent-scale model it undoes the config's scaling") {
  json config = test::tiny_config();
  config["scaling_factor"] = 0.25;
  SECTION("one factor and shift") {
    config["shift_factor"] = 0.125;
  }
  SECTION("a mean and a deviation for each channel") {
    config["latents_mean"] = {0.1, -0.2, 0.3, -0.4};
    config["latents_std"] = {0.5, 1, 1.5, 2};
  }
  const ReadyDecode ready(config);
  REQUIRE(ready.decode().code == 0);
  const Array expected = read_latent(ready.output);
  Array handed_on = ready.latent;
  for (size_t i = 0; i < handed_on.values.size(); ++i) {
    const size_t c = i / 30 % 4;
    const bool each = config.contains("latents_mean");
    const double mean = each ? config["latents_mean"][c].get<double>() : 0.125;
    const double deviation = each ? config["latents_std"][c].get<double>() : 1;
    handed_on.values[i] = static_cast<float>((double(handed_on.values[i]) - mean) * 0.25 / deviation);
  }
  const std::string file = test::write_npy(ready.scratch / "handed_on.npy", handed_on);
  REQUIRE(ready.decode({"--latent", file, "--latent-scale", "model"}).code == 0);
  CHECK(test::relative_error(read_latent(ready.output), expected) < 1e-5);
  REQUIRE(ready.decode({"--latent", file, "--latent-scale", "none"}).code == 0);
  CHECK(test::relative_error(read_latent(ready.output), expected) > 1e-2);
}

TEST_CASE(
    "a mean or deviation for other than each channel matters only where --latent-scale model needs it") {
  json config = test::tiny_config();
  config["latents_mean"] = std::vector<double>(16, 0.5);
  config["latents_std"] = std::vector<double>(4, 2.0);
  const auto refused = [](const ReadyDecode& ready, const std::string& key) {
    REQUIRE(ready.decode().code == 0);
    std::filesystem::remove(ready.output);
    ready.refuses({"--latent-scale", "model"},
                  {"model/config.json: latents_" + key, "4 latent channels", "found 16"});
  };
  refused(ReadyDecode(config), "mean");
  std::swap(config["latents_mean"], config["latents_std"]);
  refused(ReadyDecode(config), "std");
}

/// A decode of latents of a model that divides its pipelines' latents by 0.125.
struct ScaledDecode {
  nlohmann::json config = [] {
    nlohmann::json scaled = test::tiny_config();
    scaled["scaling_factor"] = 0.125;
    return scaled;
  }();
  ReadyDecode ready{config};

  test::Ended decode(double deviation, const test::Words& how) const {
    Array latent = ready.latent;
    for (float& value : latent.values) value = static_cast<float>(value * deviation);
    const std::string file = test::write_npy(ready.scratch / "drawn.npy", latent);
    return ready.decode(test::joined({"--latent", file}, how));
  }
  /// Standard error of a decode that succeeds.
  std::string said(double deviation, const test::Words& how) const {
    const test::Ended ended = decode(deviation, how);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') <= 1);
    return ended.err;
  }
};

TEST_CASE("what a latent was taken for is said, in a line") {
  const ScaledDecode scaled;
  using Catch::Contains;
  CHECK_THAT(scaled.said(1, {"--latent-scale", "none"}),
             Contains("headroom-decode: warning: this latent looks scaled") &&
                 Contains("wrong without --latent-scale model"));
  CHECK(scaled.said(2.8, {"--latent-scale", "none"}).empty());
  CHECK(scaled.said(8, {"--latent-scale", "none"}).empty());
  CHECK(scaled.said(1, {"--latent-scale", "model"}).empty());
  CHECK_THAT(scaled.said(8, {"--latent-scale", "model"}),
             Contains("warning") && Contains("--latent-scale none"));
}

TEST_CASE("the default of --latent-scale is auto") {
  const ScaledDecode scaled;
  test::Words words = scaled.ready.words();
  const auto scale = std::find(words.begin(), words.end(), "--latent-scale");
  words.erase(scale, scale + 2);
  const test::Ended ended = test::call(run_decode, words);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.err, Catch::Contains("scaling undone"));
}

TEST_CASE("with --latent-scale auto the numbers decide, and pipelines' latents are expected in doubt") {
  const ScaledDecode scaled;
  const auto picture = [&](double deviation, const char* how) {
    const std::string said = scaled.said(deviation, {"--latent-scale", how});
    return std::pair{test::read_bytes(scaled.ready.output), said};
  };
  const auto [undone, undone_said] = picture(1, "auto");
  CHECK_THAT(undone_said,
             Catch::Contains("latent: scaled, as pipelines output it") && Catch::Contains("scaling undone"));
  CHECK(undone == picture(1, "model").first);
  const auto [given, given_said] = picture(8, "auto");
  CHECK_THAT(given_said, Catch::Contains("already unscaled"));
  CHECK(given == picture(8, "none").first);
  for (const double doubtful : {2.8, 40.0, 0.01}) {
    const auto [taken, taken_said] = picture(doubtful, "auto");
    CHECK_THAT(taken_said, Catch::Contains("warning: cannot tell whether this latent is scaled: standard") &&
                               Catch::Contains("pass --latent-scale none"));
    CHECK(taken == picture(doubtful, "model").first);
  }
}

TEST_CASE("where pipelines scale nothing, nothing is said") {
  nlohmann::json config = test::tiny_config();
  config["scaling_factor"] = 1;
  const ReadyDecode ready(config);
  for (const char* how : {"auto", "model", "none"}) {
    const test::Ended ended = ready.decode({"--latent-scale", how});
    CHECK(ended.code == 0);
    CHECK(ended.err.empty());
  }
}

TEST_CASE("ComfyUI's latents are the decoder's own input, whatever their deviation") {
  const ScaledDecode scaled;
  const ReadyDecode& ready = scaled.ready;
  REQUIRE(ready.decode().code == 0);
  const std::string expected = test::read_bytes(ready.output);
  const std::string header =
      R"({"latent_tensor":{"dtype":"F32","shape":[1,4,5,6],"data_offsets":[0,480]},)"
      R"("latent_format_version_0":{"dtype":"F32","shape":[0],"data_offsets":[480,480]}})";
  const std::string file = ready.scratch.write(
      "comfy.latent", test::safetensors_bytes(header, test::bytes_of(ready.latent.values)));
  const test::Ended ended = ready.decode({"--latent", file, "--latent-scale", "auto"});
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.err, Catch::Contains("ComfyUI's latent: already unscaled; decoded as it is\n"));
  CHECK(test::read_bytes(ready.output) == expected);
}

TEST_CASE("fp16 that becomes fp32 is said") {
  const ReadyDecode ready;
  const test::Ended planned =
      test::call(planner::run_plan, {"--model", ready.model, "--size", "12x10", "--limit", "64MiB", "--dtype",
                                     "fp16", "-o", ready.scratch / "p.json"});
  REQUIRE(planned.code == 0);
  CHECK_THAT(planned.err, Catch::Contains("headroom-plan: --dtype fp16: decodes in fp32") &&
                              Catch::Contains("force_upcast"));
}

}  // namespace
}  // namespace headroom
