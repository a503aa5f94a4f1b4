#pragma once

#include <string>
#include <vector>

#include "decoder/graph/json_fields.h"

namespace headroom {

/// Of a document that people write: refuses an object with a key that is none of these, as InputError that
/// names it and the nearest one. Documents that programs write keep keys that only newer versions know.
void require_known_keys(const JsonFields& object, const std::vector<std::string>& known);

}  // namespace headroom
