#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/recipe.h"
#include "profiler/libtorch/record_eager.h"

namespace headroom::profiler {

/// One decode that is to be recorded.
struct AskedDecode {
  Request request;
  EagerLayout layout{};
  std::optional<Recipe> tiles{};  ///< none where it is whole
};

/// All that are asked for. Throws InputError as record_eager() does.
std::vector<AskedDecode> asked_decodes(const Model& model, const EagerRequest& request);

/// "512x512 nchw in tiles".
std::string text_of(const AskedDecode& asked);

}  // namespace headroom::profiler
