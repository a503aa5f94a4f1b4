#pragma once

#include <cstdint>

namespace headroom {

/// All memory that this process could have if nothing else ran: the machine's, or what a control group allows
/// where that is less.
int64_t memory_bytes();

/// Memory that this process could take without swapping and without being ended for it: the machine's
/// MemAvailable, less where a control group leaves less (control_groups.h). 0 where nothing is left.
int64_t available_bytes();

/// The limit that `--limit auto` stands for where so much is available: less what a program holds besides its
/// growth, and a sixteenth for whatever else runs here, 16 to 256 MiB.
int64_t automatic_limit_bytes(int64_t available_bytes);

}  // namespace headroom
