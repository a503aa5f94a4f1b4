#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::profiler {

/// The program headroom-profile: arguments without its name, results on `out`, messages on `err`.
/// Returns the exit code (decoder/cli/run_guard.h).
int run_profile(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::profiler
