#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headroom {

/// Asks the program headroom-plan that lies beside this one for a plan; `arguments` are its own, without -o.
/// Throws what its exit code stands for, with its message.
nlohmann::json plan_from_program_beside(const std::vector<std::string>& arguments);

}  // namespace headroom
