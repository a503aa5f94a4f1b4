#include "decoder/cli/commands.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/nearest.h"
#include "decoder/base/printable.h"

namespace headroom {

std::string commands_help(const std::vector<Command>& commands) {
  size_t widest = 0;
  for (const Command& command : commands) widest = std::max(widest, command.name.size());
  std::string text = "Commands, each with its own --help:\n";
  for (const Command& command : commands) {
    text += "  " + command.name + std::string(widest - command.name.size() + 2, ' ') + command.meaning + "\n";
  }
  return text;
}

std::string command_of(const std::vector<std::string>& args, const std::vector<Command>& commands,
                       const std::string& without_command) {
  if (args.empty() || args.front().empty() || args.front().starts_with("-")) return "";
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.name);
  const std::string& word = args.front();
  if (std::find(names.begin(), names.end(), word) != names.end()) return word;
  const std::string unknown = "unknown command '" + printable(word) + "'; ";
  const std::string meant = nearest(word, names);
  if (!meant.empty()) throw InputError(unknown + "did you mean " + meant + "?");
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  throw InputError(unknown + (names.size() > 1 ? "the commands are " : "the only command is ") + all +
                   (without_command.empty() ? "" : ". " + without_command));
}

}  // namespace headroom
