#pragma once

#include <string>
#include <vector>

#include "decoder/graph/json_fields.h"

namespace headroom {

/// Rejects unknown keys in a document that people write. Throws InputError with the key and the nearest known
/// one. Not for documents that programs write: a newer version may have added keys to those.
void require_known_keys(const JsonFields& object, const std::vector<std::string>& known);

}  // namespace headroom
