#pragma once

#include <ostream>

#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Throws DeviceError if the error of predicted times would exceed kMostWithin. The message suggests
/// remedies.
void require_precise(const Profile& profile);

/// Prints the error bound of predicted times, and how many points reached the target precision.
void print_precision(const Profile& profile, std::ostream& out);

}  // namespace headroom::profiler
