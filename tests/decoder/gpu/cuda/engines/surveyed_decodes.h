#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/decoder/gpu/cuda/engines/engine_survey.h"

namespace headroom::test {

/// Pictures of 1024² and, with all sizes, 2048², clips of 480p, each under an ample limit and a tight one.
inline std::vector<SurveyedDecode> decodes_of(const std::string& model, bool all_sizes) {
  std::vector<SurveyedDecode> decodes;
  for (const bool tight : {false, true}) {
    if (model.starts_with("wan") || model == "open-sora-plan") {
      decodes.push_back({model, 832, 480, 17, tight});
      continue;
    }
    decodes.push_back({model, 1024, 1024, 1, tight});
    if (all_sizes) decodes.push_back({model, 2048, 2048, 1, tight});
  }
  return decodes;
}

}  // namespace headroom::test
