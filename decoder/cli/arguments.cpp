#include "decoder/cli/arguments.h"

#include <map>

#include "decoder/base/errors.h"
#include "decoder/base/nearest.h"
#include "decoder/base/printable.h"

namespace headroom {
namespace {

/// Options of an app and of its groups. CLI11 represents a group as a nameless subcommand.
std::vector<CLI::Option*> options_of(CLI::App& app) {
  std::vector<CLI::Option*> options = app.get_options();
  for (CLI::App* group : app.get_subcommands([](CLI::App* sub) { return sub->get_name().empty(); })) {
    for (CLI::Option* option : options_of(*group)) options.push_back(option);
  }
  return options;
}

/// Kinds of values that --help shows, by option. An option means the same in every program.
const std::map<std::string, const char*>& value_kinds() {
  static const std::map<std::string, const char*> kinds{{"--limit", "BYTES"},
                                                        {"--host-limit", "BYTES"},
                                                        {"--scratch-limit", "BYTES"},
                                                        {"--rank-limit", "BYTES"},
                                                        {"--model", "DIR|NAME"},
                                                        {"--weights", "PATH"},
                                                        {"--latent", "FILE"},
                                                        {"--output", "PATH"},
                                                        {"--plan", "FILE"},
                                                        {"--queue", "FILE"},
                                                        {"--profile", "FILE"},
                                                        {"--stats", "FILE"},
                                                        {"--trace", "FILE"},
                                                        {"--preview", "FILE"},
                                                        {"--analyze", "FILE"},
                                                        {"--scratch", "DIR"},
                                                        {"--screenshot", "DIR"},
                                                        {"--size", "WxH"},
                                                        {"--sizes", "WxH,..."},
                                                        {"--ranks", "N|LIST"},
                                                        {"--fps", "N|N/D"},
                                                        {"--dtype", "fp32|bf16|fp16"},
                                                        {"--device", "cpu|cuda"},
                                                        {"--link", "RATE,SECONDS"},
                                                        {"--csv", "FILE"},
                                                        {"--watch", "LIST"},
                                                        {"--recorded-device", "DEVICE"},
                                                        {"--title", "TEXT"}};
  return kinds;
}

void name_values(CLI::App& app) {
  for (CLI::Option* option : options_of(app)) {
    if (option->get_lnames().empty() || option->get_type_name() != "TEXT") continue;
    const auto kind = value_kinds().find("--" + option->get_lnames().front());
    if (kind != value_kinds().end()) option->type_name(kind->second);
  }
}

/// Adds the default, if there is one, to the help text of every option that takes a value.
void tell_defaults(CLI::App& app) {
  for (CLI::Option* option : options_of(app)) {
    const bool value = option->get_items_expected_max() > 0;  // a flag takes none
    const std::string text = option->get_description();
    if (!value || option->get_required() || text.find("default") != std::string::npos) continue;
    option->capture_default_str();
    const std::string standard = option->get_default_str();
    option->default_str("");
    if (!standard.empty() && standard != "[]") option->description(text + " (default: " + standard + ")");
  }
}

/// Rejects words that look like options but are unknown. It runs first, so that a typo is reported before a
/// missing option.
void refuse_unknown_options(CLI::App& app, const std::vector<std::string>& args) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : args) {
    if (word == "--") return;
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string meant = nearest(name, names);
    throw InputError("unknown option '" + printable(name) + "'" +
                     (meant.empty() ? "" : "; did you mean " + meant + "?") + " (try " + app.get_name() +
                     " --help)");
  }
}

}  // namespace

bool parse_arguments(CLI::App& app, const std::vector<std::string>& args, std::ostream& out) {
  app.set_version_flag("--version", app.get_name() + " " HEADROOM_VERSION);
  tell_defaults(app);
  name_values(app);
  try {
    // Report a misspelt option first. --help works even if other arguments are wrong.
    if (std::find(args.begin(), args.end(), "--help") == args.end()) refuse_unknown_options(app, args);
    // CLI11 expects the arguments in reverse order.
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    out << (chosen.empty() ? app.help() : chosen.front()->help());
    return false;
  } catch (const CLI::CallForVersion&) {
    out << app.version() << "\n";
    return false;
  } catch (const CLI::ExtrasError&) {
    std::string words;
    for (const std::string& word : app.remaining()) words += " '" + printable(word) + "'";
    throw InputError("unexpected" + words + ": a value follows the option that takes it (try " +
                     app.get_name() + " --help)");
  } catch (const CLI::ParseError& error) {
    throw InputError(std::string(error.what()) + " (try " + app.get_name() + " --help)");
  }
  return true;
}

void add_progress_options(CLI::App& app, ProgressOptions& options) {
  auto* style = app.add_option("--progress", options.style,
                               "on standard error: bar; lines, JSON for other programs (docs/formats.md); "
                               "none; auto, the default: a bar on a terminal")
                    ->check(CLI::IsMember({"auto", "bar", "lines", "none"}));
  app.add_flag("--quiet", options.quiet, "no progress, the same as --progress none")->excludes(style);
}

}  // namespace headroom
