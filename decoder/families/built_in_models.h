#pragma once

#include <string>
#include <vector>

namespace headroom {

std::vector<std::string> built_in_models();

/// The config of a built-in model. Null if there is no model with this name.
const std::string* built_in_config(const std::string& name);

/// The name of the most similar built-in model: "flux" for "FLUX.1-dev". Empty if none is similar.
std::string nearest_built_in(const std::string& name);

}  // namespace headroom
