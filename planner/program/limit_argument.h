#pragma once

#include <cstdint>
#include <string>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// Bytes from --limit; `auto` is what the machine has free less 256 MiB, of the CPU alone. Throws InputError.
int64_t limit_from(const std::string& text, DeviceKind device);

}  // namespace headroom::planner
