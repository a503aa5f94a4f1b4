#pragma once

#include <cstdint>
#include <string>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// Bytes of --limit. `auto` is the memory available to this process, less a margin; it works for the CPU only
/// (decoder/base/os/free_memory.h). Throws InputError.
int64_t limit_from(const std::string& text, const DeviceRecord& device);

}  // namespace headroom::planner
