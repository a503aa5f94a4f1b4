#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::planner {

/// `headroom-plan diff`: arguments after the command's name, results on `out`. Returns the exit code; throws
/// what decoder/cli/run_guard.h turns into one.
int diff_command(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom::planner
