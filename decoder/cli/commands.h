#pragma once

#include <string>
#include <vector>

namespace headroom {

/// A subcommand of a program.
struct Command {
  std::string name;
  std::string meaning;  ///< one line of the program's help
};

/// Help text that lists a program's commands.
std::string commands_help(const std::vector<Command>& commands);

/// Returns the command in the first argument. Empty if there are no arguments or the first one is an option.
/// Throws InputError if the command is unknown. The message suggests the nearest command. If there is none,
/// it lists all commands and ends with `without_command`: how to call the program without a command.
std::string command_of(const std::vector<std::string>& args, const std::vector<Command>& commands,
                       const std::string& without_command = "");

}  // namespace headroom
