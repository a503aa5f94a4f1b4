#pragma once

#include <string>
#include <vector>

namespace headroom {

std::vector<std::string> built_in_models();

/// The config of a built-in model; null where none has this name.
const std::string* built_in_config(const std::string& name);

}  // namespace headroom
