#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::planner {

/// `headroom-plan validate`: its arguments, results on `out`. Returns the exit code; throws
/// what decoder/cli/run_guard.h turns into one.
int validate_command(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom::planner
