#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::planner {

/// `headroom-plan queue`: arguments after the command's name, results on `out`. Returns the exit code; throws
/// what decoder/cli/run_guard.h turns into one.
int queue_command(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom::planner
