#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::planner {

/// The program headroom-plan: arguments without its name, results on `out`, messages on `err`.
/// Returns the exit code (decoder/cli/run_guard.h).
int run_plan(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::planner
