#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"

namespace headroom {

/// Asks the program headroom-plan that lies beside this one for a plan for `device`; `arguments` are its own,
/// without that and without -o. Throws what its exit code stands for, with its message.
nlohmann::json plan_from_program_beside(const std::vector<std::string>& arguments,
                                        DeviceKind device = DeviceKind::cpu);

}  // namespace headroom
