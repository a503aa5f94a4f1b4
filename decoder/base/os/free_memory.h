#pragma once

#include <cstdint>

namespace headroom {

/// Memory that this process could use if nothing else ran: the machine's total, or a control group's limit
/// if lower.
int64_t memory_bytes();

/// Memory that this process can allocate without swapping and without being killed. It is the machine's
/// MemAvailable, or the control group's remainder if lower (control_groups.h). At least 0.
int64_t available_bytes();

/// Limit for `--limit auto`, given the available memory. It subtracts the program's own memory, and a margin
/// of 1/16 (16 to 256 MiB) for other programs.
int64_t automatic_limit_bytes(int64_t available_bytes);

}  // namespace headroom
