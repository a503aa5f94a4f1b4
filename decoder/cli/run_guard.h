#pragma once

#include <functional>
#include <ostream>

#include "decoder/graph/errors.h"

namespace headroom {

/// Runs a program's body and turns every exception into its exit code and one line on `err`. Results that
/// could not be written to `out` are a device failure as well, without a word where their reader is gone.
int guarded(const char* program, std::ostream& out, std::ostream& err, const std::function<int()>& body);

}  // namespace headroom
