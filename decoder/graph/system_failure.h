#pragma once

#include <string>

namespace headroom {

/// Whether a call of the system that left this errno failed by the system's fault (no memory, descriptors or
/// room left, a broken disk), and not because of what it was asked for.
bool is_system_failure(int error_number);

/// Throws DeviceError where is_system_failure(), InputError otherwise: "<what>: <the system's words>".
[[noreturn]] void fail_by_errno(const std::string& what, int error_number);

}  // namespace headroom
