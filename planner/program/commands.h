#pragma once

#include <ostream>
#include <string>
#include <vector>

// The commands of headroom-plan: arguments after the command's name, results on `out`, lines for people on
// `err`. They return the exit
// code, and throw what decoder/cli/run_guard.h turns into one.
namespace headroom::planner {

int diff_command(const std::vector<std::string>& args, std::ostream& out);
int explain_command(const std::vector<std::string>& args, std::ostream& out);
int frontier_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int queue_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int validate_command(const std::vector<std::string>& args, std::ostream& out);
/// Without a command.
int solve_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::planner
