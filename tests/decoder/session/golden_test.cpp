#include <catch2/catch.hpp>
#include <filesystem>

#include "decoder/families/load_model.h"
#include "decoder/files/latent_file.h"
#include "decoder/operations/operation.h"
#include "decoder/weights/weight_files.h"
#include "tests/support/decoding.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

// These match tests/reference/make_golden.py.
constexpr uint64_t kWeightsSeed = 11;
constexpr uint64_t kLatentSeed = 12;

ParameterSource weights_of(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto files = std::make_shared<WeightFiles>(folder);
    return [files](const Parameter& parameter, const Interval& elements, float* out) {
      files->read(parameter, elements, out);
    };
  }
  return test::random_source(kWeightsSeed);
}

TEST_CASE("decodes are those of diffusers, untiled and by a random plan") {
  int cases = 0;
  int of_one_frame = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEADROOM_TEST_DATA "/golden")) {
    const std::filesystem::path folder = entry.path();
    ++cases;
    CAPTURE(folder.filename().string());
    const Model any_frames = resolve_model(folder.string());
    const Array expected = read_latent((folder / "expected.npy").string());
    const std::vector<int64_t>& shape = expected.shape;  // N×C×H×W, or N×C×T×H×W for clips
    const Request request{
        folder.string(), shape.back(), shape[shape.size() - 2], shape.size() == 5 ? shape[2] : 1,
        shape[0],        Dtype::fp32};
    const Array latent = test::latent_for(any_frames, request, kLatentSeed);
    const ParameterSource weights = weights_of(folder);
    std::vector<Model> models{any_frames};
    if (any_frames.decodes_clips && request.frames == 1) models.push_back(for_frames(any_frames, 1));
    for (const Model& model : models) {
      CAPTURE(model.decodes_clips);
      if (!test::kSanitized) {  // any_plan_test.cpp decodes every class untiled
        const Array untiled =
            test::decode_to_memory(model, untiled_plan(model, request), weights, latent).picture;
        CHECK(test::relative_error(untiled, expected) <= 1e-4);
      }
      const uint64_t seed = 77;
      CAPTURE(seed);
      test::Random random(seed);
      Plan plan = test::random_plan(model, request, 1, {}, {}, random).plan;
      plan.limit_bytes = std::numeric_limits<int64_t>::max();
      const Array tiled = test::decode_to_memory(model, plan, weights, latent).picture;
      CHECK(test::relative_error(tiled, expected) <= 1e-4);
    }
    of_one_frame += models.size() > 1 ? 1 : 0;
  }
  CHECK(of_one_frame >= 4);
  CHECK(cases == 108);
}

}  // namespace
}  // namespace headroom
