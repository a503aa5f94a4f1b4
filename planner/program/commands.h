#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/cli/commands.h"

// The commands of headroom-plan: arguments after the command's name, results on `out`. They return the exit
// code, and throw what decoder/cli/run_guard.h turns into one.
namespace headroom::planner {

int diff_command(const std::vector<std::string>& args, std::ostream& out);
int explain_command(const std::vector<std::string>& args, std::ostream& out);
int frontier_command(const std::vector<std::string>& args, std::ostream& out);
int queue_command(const std::vector<std::string>& args, std::ostream& out);
int validate_command(const std::vector<std::string>& args, std::ostream& out);
/// All of them, in the order of the help.
std::vector<Command> plan_commands();
/// Without a command.
int solve_command(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom::planner
