#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// The argument of open_model() for the model that a plan's file, or a queue's, calls `name`: a built-in
/// name, or a folder or checkpoint looked for from here, then from the folder of `file`, then from the
/// folders above that. Throws ModelOfPlan where there is none.
std::string find_model(const std::string& name, const std::filesystem::path& file);

}  // namespace headroom
