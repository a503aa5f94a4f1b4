#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Finds the model that a plan or queue file calls `name`, and returns its argument for open_model(). `name`
/// is a built-in name or the path of a folder or checkpoint. Paths are relative to the working directory,
/// else to the folder of `file`, else to the folders above that. Throws ModelOfPlan if there is no such
/// model.
std::string find_model(const std::string& name, const std::filesystem::path& file);

}  // namespace headroom
