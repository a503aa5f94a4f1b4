#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace headroom {

/// Exit codes of the programs, which scripts rely on.
enum ExitCode : int { kDone = 0, kBadInput = 2, kDoesNotFit = 3, kLimitExceeded = 4, kDeviceFailure = 5 };

/// Bad usage or bad input. The message is one line that names the file, the field and what was expected.
/// Programs end with exit code 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No plan fits the limit. Programs end with exit code 3.
class DoesNotFit : public std::runtime_error {
 public:
  DoesNotFit(const std::string& message, int64_t smallest_limit)
      : std::runtime_error(message), smallest_limit_bytes(smallest_limit) {}
  /// The smallest limit under which a plan exists, in the plan space of docs/planning.md.
  int64_t smallest_limit_bytes;
};

/// A pool refused an allocation that would have crossed its limit, or a process has grown beyond its own.
/// Programs end with exit code 4.
class LimitExceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device or a library failed, or a file could not be written. Programs end with exit code 5.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace headroom
