#pragma once

#include <string>
#include <vector>

namespace headroom {

std::vector<std::string> built_in_models();

/// The config of a built-in model; null where none has this name.
const std::string* built_in_config(const std::string& name);

/// The built-in model that was probably meant: "flux" for "FLUX.1-dev". Empty where none is near.
std::string nearest_built_in(const std::string& name);

}  // namespace headroom
