#include "decoder/latents/scale.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "decoder/base/errors.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/load_model.h"
#include "decoder/files/latent_file.h"
#include "decoder/latents/evidence.h"
#include "decoder/weights/random_weights.h"
#include "tests/support/model_folder.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;

/// Mean c / 8 and variance 1 + c of every channel.
void statistics(const Parameter& parameter, const Interval& elements, float* out) {
  REQUIRE(parameter.shape == std::vector<int64_t>{128});
  REQUIRE(elements == Interval{0, 128});
  const bool mean = parameter.name == "bn.running_mean";
  if (!mean) REQUIRE(parameter.name == "bn.running_var");
  for (int64_t c = 0; c < 128; ++c) out[c] = mean ? float(c) / 8 : float(1 + c);
}

TEST_CASE("a latent of LTX is scaled by what lies with the weights") {
  const Model model = resolve_model("ltx-2");
  Array latent{{1, 128, 2, 1, 3}, {}};
  for (int64_t i = 0; i < 128 * 6; ++i) latent.values.push_back(float(i % 97) / 16 - 3);
  const Array before = latent;
  undo_latent_scale(
      model,
      [] {
        return ParameterSource([](const Parameter& parameter, const Interval& elements, float* out) {
          REQUIRE(parameter.shape == std::vector<int64_t>{128});
          REQUIRE(elements == Interval{0, 128});
          const bool mean = parameter.name == "latents_mean";
          if (!mean) REQUIRE(parameter.name == "latents_std");
          for (int64_t c = 0; c < 128; ++c) out[c] = mean ? float(c) / 8 : float(1 + c);
        });
      },
      latent);
  for (size_t i = 0; i < latent.values.size(); ++i) {
    const auto c = static_cast<float>(i / 6);
    CHECK(latent.values[i] == Approx(before.values[i] * (1 + c) + c / 8));
  }
}

TEST_CASE("a latent of FLUX.2 is taken out of its batch norm and its patches") {
  const Model model = resolve_model("flux2");
  Array latent{{2, 128, 3, 2}, {}};
  for (int64_t i = 0; i < 2 * 128 * 6; ++i) latent.values.push_back(float(i % 97) / 16 - 3);
  const Array patches = latent;
  undo_latent_scale(
      model, [] { return statistics; }, latent);
  REQUIRE(latent.shape == std::vector<int64_t>{2, 32, 6, 4});
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 32; ++c) {
      for (int64_t y = 0; y < 6; ++y) {
        for (int64_t x = 0; x < 4; ++x) {
          const int64_t packed = c * 4 + y % 2 * 2 + x % 2;
          const int64_t from = ((n * 128 + packed) * 3 + y / 2) * 2 + x / 2;
          const double before = patches.values[static_cast<size_t>(from)];
          const double expected = before * std::sqrt(double(1 + packed) + 1e-4) + double(packed) / 8;
          REQUIRE(latent.values[static_cast<size_t>(((n * 32 + c) * 6 + y) * 4 + x)] == Approx(expected));
        }
      }
    }
  }
}

TEST_CASE("what is no latent of FLUX.2's pipelines is refused, and so are statistics that are none") {
  const Model model = resolve_model("flux2");
  const auto zeros = [](std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t length : shape) count *= length;
    return Array{std::move(shape), std::vector<float>(static_cast<size_t>(count))};
  };
  const auto refusal = [&](Array latent, const ParameterSource& weights) -> std::string {
    try {
      undo_latent_scale(
          model, [&] { return weights; }, latent);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(refusal(zeros({1, 32, 4, 4}), statistics), Catch::Contains("expected 128 channels"));
  CHECK_THAT(refusal(zeros({1, 128, 1, 4, 4}), statistics), Catch::Contains("N×C×H×W"));
  const auto negative = [](const Parameter&, const Interval& elements, float* out) {
    std::fill_n(out, elements.length(), -1.0f);
  };
  CHECK_THAT(refusal(zeros({1, 128, 4, 4}), negative),
             Catch::Contains("bn.running_var: expected at least 0"));
}

TEST_CASE("weights are asked for only where a latent is in patches") {
  Array latent{{1, 4, 1, 1}, {1, 1, 1, 1}};
  undo_latent_scale(
      resolve_model("sd15"), []() -> ParameterSource { throw std::logic_error("asked for"); }, latent);
  CHECK(latent.values[0] == Approx(1 / 0.18215));
}

/// A model of this class's default config without a key, or with null there.
Model model_with(const std::string& class_name, const std::string& key, bool null) {
  json config{{"_class_name", class_name}};
  if (class_name == "AutoencoderKL") config = test::tiny_config();
  if (class_name == "AutoencoderDC") config = test::tiny_dc_config();
  if (class_name == "AutoencoderKLHunyuanImage") config = json::parse(*built_in_config("hunyuan-image-2.1"));
  config.erase(key);
  if (null) config[key] = nullptr;
  return parse_model(config.dump(), "config.json");
}

/// Factor and offset of each channel, by what becomes of 0 and 1.
LatentScaling scaling_by(const Model& model) {
  const auto channels = static_cast<size_t>(model.latent_channels);
  Array latent{{1, model.latent_channels, 1, 2}, std::vector<float>(2 * channels)};
  for (size_t c = 0; c < channels; ++c) latent.values[2 * c + 1] = 1;
  const auto ones = [](const Parameter&, const Interval& elements, float* out) {
    std::fill_n(out, elements.length(), 1.0f);
  };
  undo_latent_scale(
      model, [&] { return ParameterSource(ones); }, latent);
  LatentScaling scaling;
  for (size_t c = 0; c < channels; ++c) {
    scaling.offset.push_back(latent.values[2 * c]);
    scaling.factor.push_back(latent.values[2 * c + 1] - latent.values[2 * c]);
  }
  return scaling;
}

TEST_CASE("a factor that the config lacks is the default of the class") {
  for (const char* class_name : {"AutoencoderKLWan", "AutoencoderKLQwenImage"}) {
    const LatentScaling scaling = scaling_by(model_with(class_name, "latents_mean", false));
    CHECK(scaling.offset.front() == Approx(-0.7571));
    CHECK(scaling.offset.back() == Approx(-0.2921));
    CHECK(scaling_by(model_with(class_name, "latents_std", false)).factor.back() == Approx(1.9160));
  }
  const LatentScaling of_21 = scaling_by(model_with("AutoencoderKLQwenImage21", "latents_std", false));
  CHECK(of_21.factor.front() == Approx(3.2001));
  CHECK(of_21.offset.back() == Approx(0.0304));
  const auto factor = [](const char* class_name) {
    return 1 / scaling_by(model_with(class_name, "scaling_factor", false)).factor.front();
  };
  CHECK(factor("AutoencoderKL") == Approx(0.18215));
  CHECK(factor("AsymmetricAutoencoderKL") == Approx(0.18215));
  CHECK(factor("AutoencoderTiny") == 1);
  CHECK(factor("AutoencoderDC") == 1);
  CHECK(factor("AutoencoderKLHunyuanVideo") == Approx(0.476986));
  CHECK(factor("AutoencoderKLHunyuanVideo15") == Approx(1.03682));
  CHECK(factor("VideoAutoencoderKLWrapper") == Approx(0.9152));
  CHECK(factor("AutoencoderKLHunyuanImageRefiner") == Approx(1.03682));
}

TEST_CASE("a factor that the config denies is missed by whoever undoes the scaling, and by nobody else") {
  const auto misses = [](const std::string& class_name, const std::string& key, bool null = true) {
    CAPTURE(class_name, key);
    const Model model = model_with(class_name, key, null);  // no error: the decode itself needs none
    test::require_input_error([&] { scaling_by(model); },
                              {"config.json: " + key, "--latent-scale model needs"});
  };
  for (const char* class_name :
       {"AutoencoderKL", "AsymmetricAutoencoderKL", "AutoencoderTiny", "AutoencoderDC",
        "AutoencoderKLHunyuanImage", "AutoencoderKLHunyuanImageRefiner", "AutoencoderKLHunyuanVideo",
        "AutoencoderKLHunyuanVideo15", "AutoencoderKLLTX2Video", "AutoencoderKLLTXVideo",
        "VideoAutoencoderKLWrapper"})
    misses(class_name, "scaling_factor");
  misses("AutoencoderKLHunyuanImage", "scaling_factor", false);
  misses("AutoencoderTiny", "shift_factor");
  for (const char* class_name : {"AutoencoderKLWan", "AutoencoderKLQwenImage", "AutoencoderKLQwenImage21"}) {
    misses(class_name, "latents_mean");
    misses(class_name, "latents_std");
  }
  json config{{"_class_name", "AutoencoderKLWan"}};
  config["latents_std"] = std::vector<double>(16, 1.0);
  config["latents_std"][3] = 0;
  const Model flat = parse_model(config.dump(), "config.json");
  test::require_input_error([&] { scaling_by(flat); }, {"config.json: latents_std[3]", "above 0, found 0"});
  config = {{"_class_name", "AutoencoderKLFlux2"}, {"batch_norm_eps", nullptr}};
  const Model patches = parse_model(config.dump(), "config.json");
  Array latent{{1, 128, 1, 1}, std::vector<float>(128)};
  test::require_input_error(
      [&] {
        undo_latent_scale(
            patches, [] { return ParameterSource(statistics); }, latent);
      },
      {"config.json: batch_norm_eps: --latent-scale model needs one"});
}

TEST_CASE("random weights of LTX-Video have a scaling that can be undone") {
  const Model model = resolve_model("ltx-video");
  Array latent{{1, 128, 1, 1, 1}, std::vector<float>(128, 1.0f)};
  undo_latent_scale(
      model,
      [] {
        return ParameterSource([](const Parameter& parameter, const Interval& elements, float* out) {
          fill_random(parameter, 0, elements, out);
        });
      },
      latent);
  for (const float value : latent.values) CHECK(std::abs(value - 1) < 0.5f);
}

TEST_CASE("the advice for LTX-2 is that its pipelines' latents are unscaled") {
  const Model model = resolve_model("ltx-2");
  const test::Scratch scratch;
  const auto weights = [] {
    return ParameterSource([](const Parameter& parameter, const Interval& elements, float* out) {
      std::fill_n(out, elements.length(), parameter.name == "latents_mean" ? 0.0f : 30.0f);
    });
  };
  const auto note = [&](double deviation, const std::string& asked) {
    Array latent = random_latent({1, 128, 1, 8, 8}, 1);
    for (float& value : latent.values) value *= static_cast<float>(deviation);
    return open_latent(model, weights, test::write_npy(scratch / "l.npy", latent), asked).note;
  };
  for (const double unscaled : {30.0, 5.0}) {
    CHECK(note(unscaled, "none").empty());
    CHECK_THAT(note(unscaled, "model"), Catch::Contains("warning") && Catch::Contains("--latent-scale none"));
    CHECK_THAT(note(unscaled, "auto"), Catch::Contains("as this model's pipelines output it"));
  }
  CHECK_THAT(note(1, "none"), Catch::Contains("warning") && Catch::Contains("--latent-scale model"));
  CHECK(note(1, "model").empty());
  CHECK_THAT(note(1, "auto"), Catch::Contains("scaling undone"));
}

}  // namespace
}  // namespace headroom
