#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "decoder/files/latent_file.h"
#include "decoder/files/weight_files.h"
#include "tests/support/decoding.h"
#include "tests/support/random_plan.h"

namespace headroom {
namespace {

// As in tests/reference/make_golden.py.
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
  std::set<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(HEADROOM_TEST_DATA "/golden")) {
    const std::filesystem::path folder = entry.path();
    cases.insert(folder.filename().string());
    CAPTURE(folder.filename().string());
    const Model model = resolve_model(folder.string());
    const Array expected = read_latent((folder / "expected.npy").string());
    const Request request{folder.string(),   expected.shape[3], expected.shape[2], 1,
                          expected.shape[0], Dtype::fp32};
    const Array latent = test::latent_for(model, request, kLatentSeed);
    const ParameterSource weights = weights_of(folder);
    const Array untiled =
        test::decode_to_memory(model, untiled_plan(model, request), weights, latent).picture;
    CHECK(test::relative_error(untiled, expected) <= 1e-4);
    const uint64_t seed = 77;
    CAPTURE(seed);
    test::Random random(seed);
    Plan plan = test::random_plan(model, request, 1, {}, {}, random).plan;
    plan.limit_bytes = std::numeric_limits<int64_t>::max();
    const Array tiled = test::decode_to_memory(model, plan, weights, latent).picture;
    CHECK(test::relative_error(tiled, expected) <= 1e-4);
  }
  CHECK(cases == std::set<std::string>{"dc_all_residual", "dc_batch_norm", "dc_interpolate", "dc_odd_heads",
                                       "dc_quadratic", "dc_shuffle", "gelu", "mish_one_block",
                                       "no_post_quant", "plain", "relu_gray", "sharded_old_names",
                                       "stored_bf16", "stored_fp16", "three_blocks_no_attention"});
}

}  // namespace
}  // namespace headroom
