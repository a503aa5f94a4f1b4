#include "decoder/latents/evidence.h"

#include <catch2/catch.hpp>

#include "decoder/families/load_model.h"
#include "decoder/latents/scale.h"
#include "tests/support/model_folder.h"

namespace headroom {
namespace {

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

}  // namespace
}  // namespace headroom
