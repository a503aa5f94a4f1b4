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

void add_progress_options(CLI::App& app, ProgressOptions& options) {
  auto* style = app.add_option("--progress", options.style,
                               "on standard error: bar; lines, JSON for other programs (docs/formats.md); "
                               "none; auto: a bar on a terminal")
                    ->check(CLI::IsMember({"auto", "bar", "lines", "none"}));
  app.add_flag("--quiet", options.quiet, "no progress, the same as --progress none")->excludes(style);
}

}  // namespace headroom
