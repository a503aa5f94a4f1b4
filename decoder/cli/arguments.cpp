#include "decoder/cli/arguments.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

struct KnownOption {
  const char* group;
  const char* name;
  const char* value = nullptr;  ///< kind of value that --help shows; null: a flag, or CLI11's own name
};

constexpr const char* kWhat = "Model and input";
constexpr const char* kMemory = "Memory and device";
constexpr const char* kSearch = "Costs and search";
constexpr const char* kOutput = "Output";
constexpr const char* kRun = "Run";
constexpr const char* kRanks = "Several ranks";
constexpr const char* kOther = "Other";

/// Options in the order of --help: first those that everyone needs. An option means the same in every
/// program.
constexpr KnownOption kKnownOptions[] = {
    {kWhat, "--model", "DIR|NAME"},
    {kWhat, "--weights", "PATH"},
    {kWhat, "--random-weights"},
    {kWhat, "--direction"},
    {kWhat, "--size", "WxH"},
    {kWhat, "--sizes", "WxH,..."},
    {kWhat, "--frames"},
    {kWhat, "--batch"},
    {kWhat, "--picture", "PATH"},
    {kWhat, "--pictures", "DIR"},
    {kWhat, "--crop"},
    {kWhat, "--latent", "FILE"},
    {kWhat, "--latent-scale"},
    {kMemory, "--limit", "BYTES"},
    {kMemory, "--plan", "FILE"},
    {kMemory, "--queue", "FILE"},
    {kMemory, "--dtype", "fp32|bf16|fp16"},
    {kMemory, "--device", "cpu|cuda"},
    {kMemory, "--tf32"},
    {kMemory, "--recorded-device", "DEVICE"},
    {kMemory, "--scratch", "DIR"},
    {kMemory, "--scratch-limit", "BYTES"},
    {kMemory, "--host-limit", "BYTES"},
    {kMemory, "--weights-residency"},
    {kSearch, "--profile", "FILE"},
    {kSearch, "--other-environment"},
    {kSearch, "--thrift", "PERCENT"},
    {kSearch, "--time-budget"},
    {kSearch, "--points"},
    {kSearch, "--quick"},
    {kSearch, "--repeats"},
    {kSearch, "--accept-noise"},
    {kOutput, "--output", "PATH"},
    {kOutput, "--quality"},
    {kOutput, "--fps", "N|N/D"},
    {kOutput, "--preview", "FILE"},
    {kOutput, "--screenshot", "DIR"},
    {kOutput, "--title", "TEXT"},
    {kOutput, "--csv", "FILE"},
    {kOutput, "--stats", "FILE"},
    {kOutput, "--trace", "FILE"},
    {kOutput, "--watch", "LIST"},
    {kOutput, "--engines", "FILE"},
    {kOutput, "--analyze", "FILE"},
    {kOutput, "--json"},
    {kRun, "--verify"},
    {kRun, "--threads"},
    {kRun, "--progress"},
    {kRun, "--quiet"},
    {kRanks, "--ranks", "N|LIST"},
    {kRanks, "--rank-limit", "BYTES"},
    {kRanks, "--link", "RATE,SECONDS"},
    {kRanks, "--rank-timeout"},
    {kRanks, "--rank-exchange"},
};

/// Index into kKnownOptions, or their number for another option.
size_t place_of(const CLI::Option& option) {
  size_t i = 0;
  for (; i < std::size(kKnownOptions); ++i) {
    if (option.check_name(kKnownOptions[i].name)) break;
  }
  return i;
}

void name_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const size_t place = place_of(*option);
    if (place == std::size(kKnownOptions) || option->get_type_name() != "TEXT") continue;
    if (kKnownOptions[place].value != nullptr) option->type_name(kKnownOptions[place].value);
  }
}

/// Prints options in the order of kKnownOptions, whatever the order in which a program adds them.
class GroupedHelp : public CLI::Formatter {
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const override {
    std::string text = make_description(app) + make_usage(app, std::move(name)) + make_positionals(app);
    for (const char* group : {kWhat, kMemory, kSearch, kOutput, kRun, kRanks, kOther}) {
      std::vector<const CLI::Option*> options = app->get_options(
          [&](const CLI::Option* option) { return option->nonpositional() && option->get_group() == group; });
      std::stable_sort(options.begin(), options.end(),
                       [](const auto* a, const auto* b) { return place_of(*a) < place_of(*b); });
      if (!options.empty()) text += make_group(group, false, options);
    }
    return text + "\n";
  }
};

/// Sorts the options of a long help into groups.
void group_options(CLI::App& app) {
  constexpr size_t kLong = 12;
  if (app.get_options().size() < kLong) return;
  for (CLI::Option* option : app.get_options()) {
    const size_t place = place_of(*option);
    option->group(place < std::size(kKnownOptions) ? kKnownOptions[place].group : kOther);
  }
  app.formatter(std::make_shared<GroupedHelp>());
}

/// Adds the default, if there is one, to the help text of every option that takes a value.
void tell_defaults(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
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
  for (const CLI::Option* option : app.get_options()) {
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
  group_options(app);
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
                               "progress on standard error: bar; lines, as JSON for other programs "
                               "(docs/formats.md); none; auto, the default: a bar on a terminal")
                    ->check(CLI::IsMember({"auto", "bar", "lines", "none"}));
  app.add_flag("--quiet", options.quiet, "no progress; short for --progress none")->excludes(style);
}

void set_tf32(Request& request, const std::string& option) {
  if (!option.empty()) request.tf32 = parse_tf32(option == "true" ? "all" : option, "--tf32");
  if (const std::string wrong = wrong_tf32(request); !wrong.empty())
    throw InputError("--tf32: " + wrong + "; leave --tf32 out, or give --device cuda and --dtype fp32");
}

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
