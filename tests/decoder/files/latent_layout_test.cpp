#include "decoder/files/latent_layout.h"

#include <catch2/catch.hpp>

#include "decoder/families/load_model.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;

TEST_CASE("packed latents are recognised, singly and in batches, with the call that unpacks them") {
  const auto is_packed = [](const char* model, const std::vector<std::vector<int64_t>>& shapes,
                            const char* part) {
    for (const std::vector<int64_t>& shape : shapes) {
      CAPTURE(model, shape);
      const std::string text = packed_latent(resolve_model(model), shape);
      CHECK_THAT(text, Catch::Contains(part) && Catch::Contains("Unpack it first: pipe._unpack_latents"));
      require_input_error([&] { require_latent_of(resolve_model(model), shape); }, {"is a packed"});
    }
  };
  is_packed("flux", {{1, 4096, 64}, {3, 4096, 64}, {1, 1, 384, 64}, {2, 1, 384, 64}},
            "is a packed FLUX latent");
  is_packed("flux2", {{1, 4096, 128}, {2, 24, 128}, {1, 1, 24, 128}},
            "FLUX.2 latent. Unpack it first: "
            "pipe._unpack_latents_with_ids");
  is_packed("qwen-image", {{1, 4096, 64}, {2, 6, 64}, {1, 1, 4096, 64}}, "Qwen-Image latent");
  is_packed("qwen-image-2.1", {{1, 4096, 64}}, "Qwen-Image latent");
  is_packed("ltx-2", {{1, 384, 128}, {2, 384, 128}, {1, 1, 384, 128}}, "LTX latent");
  is_packed("ltx-video", {{1, 384, 128}}, "latent_frames, latent_height, latent_width");
  is_packed("sd3", {{1, 384, 64}}, "packed");
  is_packed("hunyuan-image-2.1", {{1, 384, 256}}, "packed latent");
}

TEST_CASE("latents that are not packed are not taken for packed ones") {
  for (const auto& [model, shape] :
       std::vector<std::pair<const char*, std::vector<int64_t>>>{{"flux", {16, 64, 64}},
                                                                 {"flux", {1, 16, 64, 64}},
                                                                 {"flux", {1, 16, 128, 16}},
                                                                 {"flux2", {1, 128, 64, 128}},
                                                                 {"flux2", {1, 32, 64, 32}},
                                                                 {"wan2.1", {16, 1, 64, 64}},
                                                                 {"wan2.1", {1, 16, 3, 64, 64}},
                                                                 {"ltx-2", {1, 128, 1, 128}},
                                                                 {"sdxl", {1, 4, 16, 16}}}) {
    CAPTURE(model, shape);
    CHECK(packed_latent(resolve_model(model), shape).empty());
  }
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 16, 64, 64}, {1, 16, 1, 64, 64}})
    require_latent_of(resolve_model("flux"), shape);
}

TEST_CASE("a latent of other channels is refused with the models that have them") {
  const auto refuses = [](const char* model, const std::vector<int64_t>& shape,
                          const std::vector<std::string>& parts) {
    require_input_error([&] { require_latent_of(resolve_model(model), shape); }, parts);
  };
  refuses("flux", {1, 4, 6, 5}, {"shape (1, 4, 6, 5) has 4 channels (", "sdxl", "; flux decodes 16"});
  refuses("sdxl", {1, 16, 6, 5}, {"16 channels (", "flux", "wan2.1", "; sdxl decodes 4"});
  refuses("sdxl", {1, 7, 6, 5}, {"has 7 channels; sdxl decodes 4"});
  refuses("sdxl", {1, 4}, {"N×C×H×W"});
}

}  // namespace
}  // namespace headroom
