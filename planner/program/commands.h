#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/cli/arguments.h"

// The commands of headroom-plan. `args` follow the command's name. Results go to `out`, messages for people
// to `err`. A command returns its exit code or throws; decoder/cli/run_guard.h maps exceptions to exit codes.
namespace headroom::planner {

int diff_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int frontier_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int models_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int queue_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int validate_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
/// All commands, in the order of the help text.
std::vector<Command> plan_commands();
/// Runs if no command is given.
int solve_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::planner
