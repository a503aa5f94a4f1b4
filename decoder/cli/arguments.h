#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"

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

}  // namespace headroom
