#pragma once

#include <string>
#include <vector>

namespace headroom {

std::vector<std::string> built_in_models();

/// The config of a built-in model. Null if there is no model with this name.
const std::string* built_in_config(const std::string& name);

/// The built-in model that a spelling names: "sd15" for "SD-1.5", "flux" for "FLUX.1-dev". Case and
/// punctuation do not count. Accepts other models that have the same decoder (BuiltIn::also). Empty if there
/// is none.
std::string built_in_named(const std::string& spelling);

/// Names of other models that have a built-in model's decoder.
std::vector<std::string> other_names_of(const std::string& built_in);

/// The name of the most similar built-in model: "flux" for "FLUX.1-dev". Empty if none is similar.
std::string nearest_built_in(const std::string& name);

}  // namespace headroom
