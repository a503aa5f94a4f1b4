#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "decoder/files/latent_file.h"
#include "decoder/graph/parameters.h"
#include "decoder/weights/weight_files.h"
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
  int of_one_frame = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEADROOM_TEST_DATA "/golden")) {
    const std::filesystem::path folder = entry.path();
    cases.insert(folder.filename().string());
    CAPTURE(folder.filename().string());
    const Model any_frames = resolve_model(folder.string());
    const Array expected = read_latent((folder / "expected.npy").string());
    const std::vector<int64_t>& shape = expected.shape;  // N×C×H×W, of clips N×C×T×H×W
    const Request request{
        folder.string(), shape.back(), shape[shape.size() - 2], shape.size() == 5 ? shape[2] : 1,
        shape[0],        Dtype::fp32};
    const Array latent = test::latent_for(any_frames, request, kLatentSeed);
    const ParameterSource weights = weights_of(folder);
    std::vector<Model> models{any_frames};
    if (any_frames.decodes_clips && request.frames == 1) models.push_back(for_frames(any_frames, 1));
    for (const Model& model : models) {
      CAPTURE(model.decodes_clips);
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
    of_one_frame += models.size() > 1 ? 1 : 0;
  }
  CHECK(of_one_frame >= 4);
  CHECK(cases == std::set<std::string>{"dc_all_residual",
                                       "dc_batch_norm",
                                       "dc_interpolate",
                                       "dc_odd_heads",
                                       "dc_quadratic",
                                       "dc_shuffle",
                                       "gelu",
                                       "hunyuan_image",
                                       "hunyuan_image_coarse",
                                       "hunyuan_image_one_width",
                                       "hunyuan_video",
                                       "hunyuan_video_15",
                                       "hunyuan_video_15_nine_frames",
                                       "hunyuan_video_15_one_frame",
                                       "hunyuan_video_15_own_channels",
                                       "hunyuan_video_15_space_alone",
                                       "hunyuan_video_15_three_frames",
                                       "hunyuan_video_15_time_longer",
                                       "hunyuan_video_five_frames",
                                       "hunyuan_video_no_attention",
                                       "hunyuan_video_one_frame",
                                       "hunyuan_video_three_frames",
                                       "hunyuan_video_time_alone",
                                       "ltx",
                                       "ltx2",
                                       "ltx2_causal",
                                       "ltx2_kinds",
                                       "ltx2_nine_frames",
                                       "ltx2_one_frame",
                                       "ltx2_two_frames",
                                       "ltx2_widths",
                                       "ltx2_zeros",
                                       "ltx_causal",
                                       "ltx_one_frame",
                                       "ltx_residual",
                                       "mish_one_block",
                                       "no_post_quant",
                                       "osp_attention_in_levels",
                                       "osp_flat",
                                       "osp_mixed_frames",
                                       "osp_one_flat_frame",
                                       "osp_one_frame",
                                       "osp_time_alone",
                                       "osp_v1_0",
                                       "osp_v1_1",
                                       "osp_v1_2",
                                       "plain",
                                       "qwen21_default",
                                       "qwen21_two",
                                       "qwen_clip",
                                       "qwen_layers",
                                       "qwen_picture",
                                       "relu_gray",
                                       "sharded_old_names",
                                       "stored_bf16",
                                       "stored_fp16",
                                       "three_blocks_no_attention",
                                       "tiny_by_three",
                                       "tiny_default",
                                       "tiny_silu",
                                       "wan22_default",
                                       "wan22_one_frame",
                                       "wan22_patches_alone",
                                       "wan22_three_frames",
                                       "wan22_without_patches",
                                       "wan_default",
                                       "wan_five_frames",
                                       "wan_no_time",
                                       "wan_odd_channels",
                                       "wan_one_frame",
                                       "wan_time_last",
                                       "wan_two_frames"});
}

}  // namespace
}  // namespace headroom
