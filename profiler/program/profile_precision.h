#pragma once

#include <ostream>
#include <string>

#include "profiler/measure/measure_latency.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Measurement effort for --quick and --seconds; `seconds` is 0 if the option was not given.
LatencyEffort latency_effort(bool quick, double seconds);

/// Throws DeviceError where predicted times would be off by more than kMostWithin. The message says what may
/// be done.
void require_precise(const Profile& profile);

/// By how much predicted times may be off, and how many points were measured precisely.
void print_precision(const Profile& profile, std::ostream& out);

}  // namespace headroom::profiler
