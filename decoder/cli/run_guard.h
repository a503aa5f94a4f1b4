#pragma once

#include <functional>
#include <ostream>

namespace headroom {

/// Exit codes that scripts rely on.
enum ExitCode : int { kDone = 0, kBadInput = 2, kDoesNotFit = 3, kLimitExceeded = 4, kDeviceFailure = 5 };

/// Runs a program's body and turns every exception into its exit code and one line on `err`.
int guarded(const char* program, std::ostream& err, const std::function<int()>& body);

}  // namespace headroom
