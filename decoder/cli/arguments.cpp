#include "decoder/cli/arguments.h"

#include "decoder/graph/errors.h"

namespace headroom {

bool parse_arguments(CLI::App& app, const std::vector<std::string>& args, std::ostream& out) {
  app.set_version_flag("--version", app.get_name() + " " HEADROOM_VERSION);
  try {
    // CLI11 takes the arguments last first.
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    out << (chosen.empty() ? app.help() : chosen.front()->help());
    return false;
  } catch (const CLI::CallForVersion&) {
    out << app.version() << "\n";
    return false;
  } catch (const CLI::ParseError& error) {
    throw InputError(std::string(error.what()) + " (try " + app.get_name() + " --help)");
  }
  return true;
}

}  // namespace headroom
