#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// Bytes from --limit; `auto` is what the machine has free less 256 MiB. Throws InputError.
int64_t limit_from(const std::string& text);

}  // namespace headroom
