#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/graph/model.h"

namespace headroom {

/// Loads a model from diffusers' config.json. Throws InputError naming the file and the key if a value is
/// unsupported, missing or of the wrong type.
Model load_model(const std::filesystem::path& config_file);

/// load_model() for the text of a config. `origin` names it in errors.
Model parse_model(const std::string& config_text, const std::string& origin);

/// Class names of the decoders that are supported.
std::vector<std::string> supported_classes();

/// Folder of the VAE: `folder` itself, or its vae/ if `folder` is a pipeline. A pipeline has
/// model_index.json, or a config.json in vae/ but none of its own.
std::filesystem::path model_folder(const std::filesystem::path& folder);

/// Resolves a --model argument: a folder that holds config.json, a pipeline's folder, or a built-in name in
/// any case. Throws InputError listing the built-in names if it is none of these.
Model resolve_model(const std::string& argument);

}  // namespace headroom
