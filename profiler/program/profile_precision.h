#pragma once

#include <filesystem>
#include <ostream>
#include <string>

#include "profiler/measure/measure_latency.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// What --quick and --seconds ask for; `seconds` is 0 where none were given.
LatencyEffort latency_effort(bool quick, double seconds);

/// Where a profile keeps what it has measured until it is done: beside its output, "profile.json.partial".
/// Empty where the output is no file.
std::filesystem::path partial_file_of(const std::string& output);

/// Throws DeviceError where predicted times would be off by more than kMostWithin: with the layers that were
/// measured worst, and what may be done.
void require_precise(const Profile& profile, const std::filesystem::path& partial_file);

/// By how much predicted times may be off, and which layers are noisy.
void print_precision(const Profile& profile, std::ostream& out);

}  // namespace headroom::profiler
