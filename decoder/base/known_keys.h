#pragma once

#include <string>
#include <vector>

#include "decoder/base/json_fields.h"

namespace headroom {

/// Rejects unknown keys in a document that people write. Throws InputError with the key and the nearest known
/// one. Do not use it for documents that programs write: newer versions may add keys.
void require_known_keys(const JsonFields& object, const std::vector<std::string>& known);

}  // namespace headroom
