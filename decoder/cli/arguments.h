#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Help text of --dtype (see decoding_dtype()).
constexpr const char* kDtypeHelp =
    "fp32; bf16 takes about half the memory; fp16 too, but SD and SDXL then run in fp32, because their "
    "config.json has force_upcast";

/// Help text of --direction (see parse_direction()).
constexpr const char* kDirectionHelp = "decode: from a latent to a picture; encode: the reverse";

/// Help text of --model (see decoder/weights/open_model.h).
constexpr const char* kModelHelp =
    "folder with config.json, folder of a pipeline, .safetensors checkpoint, or built-in name such as sdxl "
    "or "
    "wan2.1 (headroom-plan models lists them)";

/// Parses `args`, which exclude the program's name. --help shows the options in groups. Returns false if it
/// printed --help or --version on `out`. Throws InputError with a hint at --help if the arguments are
/// invalid.
bool parse_arguments(CLI::App& app, const std::vector<std::string>& args, std::ostream& out);

/// Adds --progress and --quiet. `options` must outlive the parsing.
void add_progress_options(CLI::App& app, ProgressOptions& options);

/// Help text of the flag --tf32. Its text is "true" without a value.
constexpr const char* kTf32Help =
    "in fp32 on a GPU, round inputs of convolutions and matrix products to TF32, which is faster and less "
    "precise; --tf32=convolutions leaves matrix products in full fp32, as PyTorch does by default";

/// Sets the request's TF32 from the value of --tf32, which is empty if it was not given. Otherwise the
/// request keeps its own. Throws InputError if the dtype or the device cannot use it.
void set_tf32(Request& request, const std::string& option);

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
