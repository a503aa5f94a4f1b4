#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"

namespace headroom {

/// Help text of --dtype (see decoding_dtype()).
constexpr const char* kDtypeHelp =
    "what kept tensors are stored in: fp32, bf16, or fp16, which becomes fp32 where config.json has "
    "force_upcast";

/// Help text of --model (see decoder/weights/open_model.h).
constexpr const char* kModelHelp =
    "folder with config.json, or a pipeline's with vae/, a .safetensors checkpoint, or a built-in name (such "
    "as sdxl, sana-dc-ae-f32c32, wan2.1)";

/// Parses `args`, which exclude the program's name. Returns false if it printed --help or --version on
/// `out`. Throws InputError with a hint at --help if the arguments are invalid.
bool parse_arguments(CLI::App& app, const std::vector<std::string>& args, std::ostream& out);

/// Adds --progress and --quiet. `options` must outlive the parsing.
void add_progress_options(CLI::App& app, ProgressOptions& options);

}  // namespace headroom
