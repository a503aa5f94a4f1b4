#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/cli/commands.h"

// The commands of headroom-plan: arguments after the command's name, results on `out`, lines for people on
// `err`. They return the exit code, and throw what decoder/cli/run_guard.h turns into one.
namespace headroom::planner {

int diff_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int frontier_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int models_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int queue_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int validate_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
/// All of them, in the order of the help.
std::vector<Command> plan_commands();
/// Without a command.
int solve_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::planner
