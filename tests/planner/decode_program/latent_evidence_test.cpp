#include "planner/decode_program/latent_evidence.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/families/load_model.h"
#include "planner/decode_program/latent_scale.h"
#include "tests/planner/decode_program/ready_decode.h"

namespace headroom {
namespace {

using test::ReadyDecode;
using test::Scratch;

/// Normally distributed, of this deviation and mean.
Array drawn(double deviation, double mean = 0) {
  Array latent = random_latent({1, 4, 16, 16}, 5);
  for (float& value : latent.values) value = static_cast<float>(value * deviation + mean);
  return latent;
}

LatentScaling scaling(double factor, double offset = 0) {
  return {std::vector<double>(4, factor), std::vector<double>(4, offset)};
}

TEST_CASE("a latent's deviation says what it is where the two readings lie apart") {
  const auto kind = [](const LatentScaling& by, const Array& latent) {
    return latent_evidence(by, latent).kind;
  };
  const LatentScaling sdxl = scaling(1 / 0.13025);
  for (const double of_picture : {0.6, 1.0, 1.6}) {
    CHECK(kind(sdxl, drawn(of_picture)) == LatentKind::of_pipeline);
    CHECK(kind(sdxl, drawn(of_picture / 0.13025)) == LatentKind::decoder_input);
  }
  CHECK(kind(sdxl, drawn(2.8)) == LatentKind::doubtful);
  CHECK(kind(sdxl, drawn(40)) == LatentKind::doubtful);
  CHECK(kind(sdxl, drawn(0)) == LatentKind::doubtful);
  CHECK(kind(sdxl, drawn(0.01)) == LatentKind::doubtful);
  for (const double deviation : {0.7, 0.8, 1.0})
    CHECK(kind(scaling(0.65), drawn(deviation)) == LatentKind::doubtful);
  CHECK(kind(scaling(1.67), drawn(1.84)) == LatentKind::decoder_input);
  CHECK(kind(scaling(2.77), drawn(1.3)) == LatentKind::of_pipeline);
  CHECK(latent_evidence(sdxl, drawn(2)).standard_deviation == Approx(2).epsilon(0.1));
  CHECK(sdxl.input_deviation() == Approx(7.68).epsilon(0.01));
}

TEST_CASE("channels' own means and deviations count") {
  const LatentScaling offset = scaling(1, 3);
  CHECK(latent_evidence(offset, drawn(1)).kind == LatentKind::of_pipeline);
  CHECK(latent_evidence(offset, drawn(1, 3)).kind == LatentKind::decoder_input);
  CHECK_FALSE(offset.changes_nothing());
  CHECK(scaling(1).changes_nothing());
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

TEST_CASE("a latent of FLUX.2's pipelines is known by its channels") {
  const Model model = resolve_model("flux2");
  const Scratch scratch;
  const auto taken = [&](int64_t channels, const std::string& asked) {
    const std::string file = test::write_npy(scratch / "l.npy", random_latent({channels, 2, 2}, 1));
    const auto ones = [](const Parameter&, const Interval& elements, float* out) {
      std::fill_n(out, elements.length(), 1.0f);
    };
    return open_latent(
        model, [&] { return ones; }, file, asked);
  };
  CHECK(taken(32, "none").note.empty());
  CHECK(taken(32, "auto").array.shape == std::vector<int64_t>{1, 32, 2, 2});
  CHECK(taken(128, "auto").array.shape == std::vector<int64_t>{1, 32, 4, 4});
  CHECK_THAT(taken(128, "auto").note, Catch::Contains("128 channels"));
  test::require_input_error([&] { taken(128, "none"); }, {"128 channels", "--latent-scale model"});
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
