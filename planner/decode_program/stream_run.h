#pragma once

#include <string>

#include "planner/decode_program/notes.h"
#include "planner/decode_program/options.h"

namespace headroom {

/// Decodes blocks of standard input to standard output, until the input ends. Plans once the first block says
/// its size. Returns a line about what was done. Throws InputError naming the block, DoesNotFit,
/// LimitExceeded, DeviceError.
std::string run_stream(const StreamOptions& options, Notes& notes);

}  // namespace headroom
