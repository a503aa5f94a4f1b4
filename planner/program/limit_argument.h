#pragma once

#include <cstdint>
#include <string>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// Bytes from --limit; `auto` is what this process may take, less a margin, of the CPU alone
/// (decoder/machine/free_memory.h). Throws InputError.
int64_t limit_from(const std::string& text, DeviceKind device);

}  // namespace headroom::planner
