#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
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

/// Largest share of the arithmetic on engines that are not cuDNN's best.
constexpr double kMostPoor = 0.05;

void check_engines(const std::string& model, const SurveyedType& type, const EnginesOfCard& found) {
  const int64_t latent_channels = resolve_model(model).latent_channels;
  CHECK_FALSE(found.engines.empty());
  double flops = 0;
  for (const auto& [engine, use] : found.engines) {
    CAPTURE(engine, use.most_inputs);
    CHECK_FALSE(use.compiles);
    flops += use.flops;
    if (type.dtype == Dtype::fp32) {
      CHECK((type.tf32 || !use.tensor_cores));
    } else {
      // For a latent of few channels cuDNN prefers engines without tensor cores.
      CHECK((use.tensor_cores || use.most_inputs <= latent_channels));
    }
  }
  CHECK(found.over_grant == 0);
  // In fp32 a few large kernels on small tiles would need more workspace than there is.
  if (type.dtype != Dtype::fp32) CHECK(found.poor == 0);
  CHECK(found.poor_flops <= kMostPoor * flops);
}

void check_decodes(const std::string& model, LeftFor expected) {
  const auto found = survey_engines(decodes_of(model, !kSanitized));
  for (size_t type = 0; type < kSurveyedTypes.size(); ++type) {
    for (size_t card = 0; card < kCards.size(); ++card) {
      CAPTURE(model, kSurveyedTypes[type].name, kCards[card].name);
      const EnginesOfCard& engines = found[type][card];
      check_engines(model, kSurveyedTypes[type], engines);
      for (const auto& [why, count] : engines.left)
        CHECK((why == expected || why == LeftFor::one_tap_in_place));  // a shortcut, added in place
    }
  }
}

TEST_CASE("on every card each convolution of a picture has an engine that is there, within its workspace") {
  if (!can_ask_cudnn()) return;
  // The convolutions of sd15 are those of sdxl, and those of flux are those of sd3.
  for (const char* model : {"sdxl", "sd3", "sana-dc-ae-f32c32"})
    check_decodes(model, LeftFor::groups);  // Sana's alone
}

TEST_CASE("on every card each convolution of a clip has an engine that is there, within its workspace") {
  if (can_ask_cudnn()) check_decodes("wan2.1", LeftFor::frame_of_zeros);
}

std::string engines_of(const EnginesOfCard& found) {
  double all = 0;
  for (const auto& [engine, use] : found.engines) all += use.flops;
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& [engine, use] : found.engines) {
    std::ostringstream text;
    text << engine << (use.tensor_cores ? "" : "*") << ": " << use.problems << " (" << std::fixed
         << std::setprecision(1) << 100 * use.flops / all << " %)";
    parts.emplace_back(-use.flops, text.str());
  }
  std::sort(parts.begin(), parts.end());
  std::string line;
  for (const auto& [order, text] : parts) line += (line.empty() ? "" : ", ") + text;
  return line;
}

std::string left_of(const EnginesOfCard& found) {
  constexpr std::array<const char*, 4> kNames{"groups", "frame of zeros", "one tap, in place", "else"};
  std::string line;
  for (const auto& [why, count] : found.left)
    line += (line.empty() ? "" : ", ") + std::string(kNames.at(static_cast<size_t>(why))) + ": " +
            std::to_string(count);
  return line.empty() ? "none" : line;
}

/// Prints the table of reports/results/cudnn-engines.md.
TEST_CASE("table of engines", "[.table]") {
  REQUIRE(can_ask_cudnn());
  std::cout << "| model | arithmetic | card | convolutions: engine | largest workspace | poor | left |\n"
               "|---|---|---|---|---|---|---|\n";
  for (const char* model :
       {"sdxl", "sd15", "sd3", "flux", "flux2", "sana-dc-ae-f32c32", "hunyuan-image-2.1", "qwen-image",
        "qwen-image-2.1", "taesd", "taef1", "wan2.1", "wan2.2", "open-sora-plan"}) {
    const auto found = survey_engines(decodes_of(model, true));
    for (size_t type = 0; type < kSurveyedTypes.size(); ++type) {
      for (size_t card = 0; card < kCards.size(); ++card) {
        const EnginesOfCard& engines = found[type][card];
        double all = 0;
        for (const auto& [engine, use] : engines.engines) all += use.flops;
        std::cout << "| " << model << " | " << kSurveyedTypes[type].name << " | "
                  << architecture_name(kCards[card]) << " | " << engines_of(engines) << " | "
                  << (engines.most_workspace_bytes >> 20) << " MiB | " << engines.poor << " ("
                  << std::lround(100 * engines.poor_flops / all) << " %) | " << left_of(engines) << " |"
                  << std::endl;
      }
    }
  }
}

}  // namespace
}  // namespace headroom::test
