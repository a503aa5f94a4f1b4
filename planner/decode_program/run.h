#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom {

/// The program headroom-decode: arguments without its name, results on `out`, messages on `err`.
/// Returns the exit code (decoder/cli/run_guard.h).
int run_decode(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom
