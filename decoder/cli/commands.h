#pragma once

#include <string>
#include <vector>

namespace headroom {

/// A word after a program's name.
struct Command {
  std::string name;
  std::string meaning;  ///< one line of the program's help
};

/// The part of a program's help that names its commands.
std::string commands_help(const std::vector<Command>& commands);

/// The command that the arguments begin with; empty where they begin with an option, or there are none.
/// Throws InputError naming the nearest command where the first word is none of them.
std::string command_of(const std::vector<std::string>& args, const std::vector<Command>& commands);

}  // namespace headroom
