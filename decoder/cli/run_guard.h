#pragma once

#include <functional>
#include <ostream>

#include "decoder/base/errors.h"

namespace headroom {

/// Runs a program's body. Turns every exception into an exit code and one line on `err`. A failed write of
/// results to `out` is a device failure too. There is no message if the reader of `out` has gone.
int guarded(const char* program, std::ostream& out, std::ostream& err, const std::function<int()>& body);

}  // namespace headroom
