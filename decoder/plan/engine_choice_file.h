#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/plan/engine_choice.h"

namespace headroom {

/// `engines` of a plan or a profile (docs/formats.md).
nlohmann::json to_json(const std::vector<EngineChoice>& choices);
/// Empty if `file` has no `engines`. Throws InputError naming the file and the key.
std::vector<EngineChoice> engine_choices_of(const JsonFields& file);

}  // namespace headroom
