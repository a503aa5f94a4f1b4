#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "decoder/families/load_model.h"
#include "tests/decoder/gpu/cuda/engines/engine_survey.h"
#include "tests/support/sanitized.h"

namespace headroom::test {
namespace {

/// False, and a line that CTest takes for a skipped test, where cuDNN cannot be asked.
bool can_ask_cudnn() {
  const std::string why = why_cudnn_cannot_be_asked();
  if (!why.empty()) WARN(why);
  return why.empty();
}

/// Pictures of 1024² and, with all sizes, 2048², clips of 480p, each under an ample limit and a tight one.
std::vector<SurveyedDecode> decodes_of(const std::string& model, bool all_sizes) {
  std::vector<SurveyedDecode> decodes;
  for (const bool tight : {false, true}) {
    if (model.starts_with("wan")) {
      decodes.push_back({model, 832, 480, 17, tight});
      continue;
    }
    decodes.push_back({model, 1024, 1024, 1, tight});
    if (all_sizes) decodes.push_back({model, 2048, 2048, 1, tight});
  }
  return decodes;
}

void check_engines(const std::string& model, const EnginesOfCard& found) {
  const int64_t latent_channels = resolve_model(model).latent_channels;
  CHECK_FALSE(found.engines.empty());
  for (const auto& [engine, use] : found.engines) {
    CAPTURE(engine, use.most_inputs);
    CHECK_FALSE(use.compiles);
    // For a latent of few channels cuDNN prefers engines without tensor cores.
    CHECK((use.tensor_cores || use.most_inputs <= latent_channels));
  }
  CHECK(found.over_grant == 0);
  CHECK(found.poor == 0);
}

void check_decodes(const std::string& model, LeftFor expected) {
  for (const auto& [dtype, cards] : survey_engines(decodes_of(model, !kSanitized))) {
    for (size_t i = 0; i < kCards.size(); ++i) {
      CAPTURE(model, name_of(dtype), kCards[i].name);
      check_engines(model, cards[i]);
      for (const auto& [why, count] : cards[i].left)
        CHECK((why == expected || why == LeftFor::one_tap_in_place));  // a shortcut, added in place
    }
  }
}

TEST_CASE("on every card each convolution of a picture has an engine that is there, within its workspace") {
  if (!can_ask_cudnn()) return;
  for (const char* model : {"sd15", "sdxl", "sd3", "flux", "sana-dc-ae-f32c32"})
    check_decodes(model, LeftFor::groups);  // Sana's alone
}

TEST_CASE("on every card each convolution of a clip has an engine that is there, within its workspace") {
  if (can_ask_cudnn()) check_decodes("wan2.1", LeftFor::frame_of_zeros);
}

}  // namespace
}  // namespace headroom::test
